// SPDX-License-Identifier: Apache-2.0
//
// Compiles a model with the options of the command line.
#ifndef HEWN_LIB_TOOLS_MODELS_COMPILEMODEL_H
#define HEWN_LIB_TOOLS_MODELS_COMPILEMODEL_H

#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace hewn::tool {

/// Options of every tool that compiles, named after the flags of the command line.
struct CompileFlags {
  std::string target = "host", precision = "highest";
  std::vector<std::string> dims, limits, customOps, tunings;
  int threads = 1;
  std::string cacheDir, remarks;
  std::string partition, cluster;
  bool naive = false;
  /// Quantization scheme, and path of the folder with calibration samples.
  std::string quantize, calibrate;
  double leastDecibels = 0, largestError = 0;
  std::string dimNames = "lenient";
  /// True if a scheme was given, even if it is empty, which is an error.
  bool quantizes = false;
};
/// Returns the flags that differ from their default, quoted for a shell, each preceded by a space.
std::string flagsText(const CompileFlags &flags);
/// Quotes `text` as one shell word, if necessary.
std::string shellWord(const std::string &text);
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

/// Compiles a model. Returns false after an error. Writes the compiler's messages to `messages`; if
/// `problems` is given, stores only the first error there. After one second, shows the current
/// stage if `messages` is a terminal.
bool compileModel(const CompileJob &job, const CompileFlags &flags, llvm::raw_ostream &messages,
                  CompileTexts *texts = nullptr, std::string *problems = nullptr);

} // namespace hewn::tool

#endif
