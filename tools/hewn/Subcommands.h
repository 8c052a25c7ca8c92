// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the driver. Each has its flags and its work in a file of its own.
#ifndef HEWN_TOOLS_HEWN_SUBCOMMANDS_H
#define HEWN_TOOLS_HEWN_SUBCOMMANDS_H

#include "llvm/Support/CommandLine.h"
#include <string>
#include <vector>

namespace hewn::tool {

/// Functions, since a flag anywhere may be made before a global of another file.
llvm::cl::SubCommand &compileCommand();
llvm::cl::SubCommand &runCommand();
llvm::cl::SubCommand &benchCommand();
llvm::cl::SubCommand &profileCommand();
llvm::cl::SubCommand &explainCommand();
llvm::cl::SubCommand &checkCommand();

/// Exit statuses: 0, 1 where the model or a run fails, 2 where the command line is wrong.
int compileMain();
int runMain();
int benchMain();
int profileMain();
int explainMain();
int checkMain();

/// Flags that every subcommand which compiles has.
struct CompileFlags {
  std::string target, precision;
  std::vector<std::string> dims;
  int threads;
  bool naive;
};
CompileFlags compileFlags();
/// Those that were given and only mean something to a model that is compiled, as the user writes them.
std::vector<std::string> givenCompileFlags();

/// Compiles `model` to `output`, or to the text of stage `emit` (into `text` where `output` is empty); prints what the
/// compiler has to say. `transient`: the artifact is for this process alone. Shows the stage on a terminal when it takes longer than a second.
bool compileModel(const std::string &model, const std::string &output, const std::string &emit, const std::string &name,
                  bool embedWeights, bool transient, std::string *text = nullptr);

} // namespace hewn::tool

#endif
