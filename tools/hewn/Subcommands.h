// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of the driver and what they share. Each subcommand has a source file with its
// flags and its implementation.
#ifndef HEWN_TOOLS_HEWN_SUBCOMMANDS_H
#define HEWN_TOOLS_HEWN_SUBCOMMANDS_H

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

/// Flags of every subcommand that compiles.
struct CompileFlags {
  std::string target, precision;
  std::vector<std::string> dims, limits, customOps, tunings;
  int threads;
  std::string cacheDir, remarks;
  std::string partition, cluster;
  bool naive;
  /// Quantization scheme, and path of the folder with calibration samples.
  std::string quantize, calibrate;
  double leastDecibels, largestError;
  std::string dimNames;
};
/// Returns the flags of the command line. Must be called before the first compilation: the linker,
/// its last step, resets all flags.
CompileFlags compileFlags();
/// Returns the flags that differ from their default, quoted for a shell, each preceded by a space.
std::string flagsText(const CompileFlags &flags);
/// Quotes `text` as one shell word, if necessary.
std::string shellWord(const std::string &text);
/// Returns the names, with dashes, of the given flags that only apply to compilation. --dim is
/// included if `dims` is true.
std::vector<std::string> givenCompileFlags(bool dims = true);

/// A model to compile: a file, or the bytes of a file and the folder of its external data.
struct CompileJob {
  std::string path;
  llvm::StringRef bytes;
  std::string folder;
  /// Path of the compiled artifact. If it is empty, the compilation returns the text of `stage`
  /// instead.
  std::string output, stage;
  /// Files with the weights of a stage's text, if it is the input or the output.
  std::string weights, saveWeights;
  /// Name of the model in the generated C interface.
  std::string name;
  bool embedWeights = false;
  /// True if only this process uses the artifact.
  bool transient = false;
  /// True if the text of the stage explain-json is returned in addition to the artifact.
  bool explain = false;
};

/// Texts that a compilation returns in addition to its files.
struct CompileTexts {
  /// Text of the stage that was requested, or the explanation of the artifact.
  std::string stage;
  /// The quantization that was chosen, and its report in JSON. Both are empty if the model is not
  /// quantized.
  std::string quantization, report;
  /// Written files: the artifact, then the header, then the others.
  std::vector<std::string> files;
  /// Files that the artifact depends on.
  std::vector<std::string> inputs;
};

/// Compiles a model. Returns false after an error. Prints the compiler's messages; if `problems` is
/// given, stores only the first error there. After one second, shows the current stage if the
/// standard error is a terminal.
bool compileModel(const CompileJob &job, const CompileFlags &flags, CompileTexts *texts = nullptr,
                  std::string *problems = nullptr);

/// Checks that a file that the command writes at its end is writable, and that it is none of
/// `others`, the other files of the command. Returns false after printing an error. An empty path
/// passes the check.
bool canWrite(const std::string &path, llvm::ArrayRef<std::string> others);

} // namespace hewn::tool

#endif
