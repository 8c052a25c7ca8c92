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
llvm::cl::SubCommand &quantizeCommand();
llvm::cl::SubCommand &reduceCommand();
llvm::cl::SubCommand &tuneCommand();
llvm::cl::SubCommand &infoCommand();
llvm::cl::SubCommand &completionCommand();

/// Exit statuses: 0, 1 where the model or a run fails, 2 where the command line is wrong, 3 where check finds a difference.
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

/// Flags that every subcommand which compiles has.
struct CompileFlags {
  std::string target, precision;
  std::vector<std::string> dims, limits, customOps, tunings;
  int threads;
  std::string cacheDir, remarks;
  std::string partition, cluster;
  bool naive;
  /// How it is quantized, and by which data: a folder.
  std::string quantize, calibrate;
  double leastDecibels, largestError;
};
/// What the command line says. To be read before anything is compiled: the linker, which compiling ends with, resets all flags.
CompileFlags compileFlags();
/// What has to be written for such flags, quoted for a shell: each flag that is not as it is unless told, a space in front.
std::string flagsText(const CompileFlags &flags);
/// Text as one word of a shell's.
std::string shellWord(const std::string &text);
/// Those that were given and only mean something to a model that is compiled, as the user writes them; --dim among them where `dims` is.
std::vector<std::string> givenCompileFlags(bool dims = true);

/// One model to compile: a file, or bytes with the folder of their external data.
struct CompileJob {
  std::string path;
  llvm::StringRef bytes;
  std::string folder;
  /// The artifact, or empty for the text of `stage`.
  std::string output, stage;
  /// In C.
  std::string name;
  bool embedWeights = false;
  /// The artifact is for this process alone.
  bool transient = false;
  /// Beside the artifact, the text of the stage explain-json is wanted.
  bool explain = false;
};

/// What a compile tells beside its files.
struct CompileTexts {
  /// Of a stage, or what explains an artifact.
  std::string stage;
  /// What was chosen where it quantizes, and the report in JSON.
  std::string quantization, report;
  /// Every file that was written, the artifact first.
  std::vector<std::string> files;
};

/// False after an error. The compiler's messages are printed; or, with `problems`, the first error is put there. Shows the stage on a
/// terminal when it takes longer than a second.
bool compileModel(const CompileJob &job, const CompileFlags &flags, CompileTexts *texts = nullptr,
                  std::string *problems = nullptr);

/// Whether a file that is written when all is done can be: not over one of `others`, those of the same command. False after an error was
/// printed; an empty path is none.
bool canWrite(const std::string &path, llvm::ArrayRef<std::string> others);

} // namespace hewn::tool

#endif
