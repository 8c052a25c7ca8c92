// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the driver and what they share. Each subcommand has a source file with its
// flags and its implementation.
#ifndef HEWN_TOOLS_HEWN_SUBCOMMANDS_H
#define HEWN_TOOLS_HEWN_SUBCOMMANDS_H

#include "lib/Tools/Models/CompileModel.h"
#include "llvm/Support/CommandLine.h"
#include <string>
#include <vector>

namespace hewn::tool {

/// Return LLVM's objects for the subcommands. These are functions instead of globals, because the
/// initializer of a flag may run before a global of another file is initialized.
llvm::cl::SubCommand &compileCommand();
llvm::cl::SubCommand &runCommand();
llvm::cl::SubCommand &benchCommand();
llvm::cl::SubCommand &profileCommand();
llvm::cl::SubCommand &explainCommand();
llvm::cl::SubCommand &checkCommand();
llvm::cl::SubCommand &quantizeCommand();
llvm::cl::SubCommand &reduceCommand();
llvm::cl::SubCommand &tuneCommand();
llvm::cl::SubCommand &infoCommand();
llvm::cl::SubCommand &completionCommand();

/// Return the exit status: 0, 1 (the model or a run failed), 2 (usage error), or 3 (`check` found a
/// difference).
int compileMain();
int runMain();
int benchMain();
int profileMain();
int explainMain();
int checkMain();
int quantizeMain();
int reduceMain();
int tuneMain();
int infoMain();
int completionMain();

/// Returns the flags of the command line. Must be called before the first compilation: the linker,
/// its last step, resets all flags.
CompileFlags compileFlags();
/// Returns the names, with dashes, of the given flags that only apply to compilation. --dim is
/// included if `dims` is true.
std::vector<std::string> givenCompileFlags(bool dims = true);

/// Checks that a file that the command writes at its end is writable, and that it is none of
/// `others`, the other files of the command. Returns false after printing an error. An empty path
/// passes the check.
bool canWrite(const std::string &path, llvm::ArrayRef<std::string> others);

} // namespace hewn::tool

#endif
