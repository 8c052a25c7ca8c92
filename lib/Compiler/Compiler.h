// SPDX-License-Identifier: Apache-2.0
//
// One compile: a model and options in, files or the text of a stage out.
#ifndef HEWN_LIB_COMPILER_COMPILER_H
#define HEWN_LIB_COMPILER_COMPILER_H

#include "lib/Compiler/LoadedLibrary.h"
#include "lib/Support/Diagnostics.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>
#include <vector>

namespace hewn {

struct QuantizeStep;
namespace codegen {
class CodeStore;
}

/// An input of a model by its name, which may be empty where the model has one input.
struct Feed {
  std::string name;
  Array array;
};

struct CompileOptions {
  /// The model: a file (.onnx, .onnxtxt, or .mlir of any stage), or bytes with the folder of their external data.
  std::string modelPath;
  llvm::StringRef modelBytes;
  std::string modelFolder;
  /// The artifact; its extension says which: .so .a .o. Empty: only text is wanted (`emit`).
  std::string output;
  /// graph, kernels, loops, plan, llvm, asm, header: stop there; the text goes to `output`, or to the result where that
  /// is empty. Empty: the artifact.
  std::string emit;
  std::string target = "host";
  /// "batch=1", "seq=1..512", "seq=1,128,1..512".
  std::vector<std::string> dims;
  /// "nodes=1000": what a model may ask for beyond what its file has (lib/Support/Limits.h).
  std::vector<std::string> limits;
  /// "highest", "high", "medium" (lib/Support/Precision.h).
  std::string precision = "highest";
  /// Files in which ops are given that hewn does not have, or their text: docs/custom-ops.md.
  std::vector<std::string> customOps;
  /// Functions of such ops that are in this process, by their symbols. For an artifact that is `transient`.
  std::vector<std::pair<std::string, uint64_t>> customFunctions;
  /// Schedules that were measured: files of `hewn tune`, or the text of one (docs/tutorials/tuning.md). Rows of other machines are left alone.
  std::vector<std::string> tunings;
  /// "tensor=2", "pipeline=2", "tensor=2,pipeline=2,microbatches=4", "auto": over how many ranks the model is split (docs/tutorials/partition.md). Empty: it is not.
  std::string partition;
  /// Of which machines: a file, or its text, which begins with a brace (docs/reference/cluster.md). With the partition "auto" the best for them; the stages
  /// explain and explain-json say what each way takes there.
  std::string cluster;
  /// How many threads compile; 0: as many as the machine has.
  int jobs = 0;
  /// The model's name in C; empty: from the output's, or the model's file name.
  std::string name;
  bool optimize = true;
  bool embedWeights = false;
  /// The artifact is for this process alone: it need not be on the disk when the compile is done.
  bool transient = false;
  /// A file for what passes say of what they did not do, and why: JSON where it ends in .json, else YAML. Empty: none.
  std::string remarks;
  /// The text of the stage explain-json is the result's, beside the artifact.
  bool explain = false;
  /// Where artifacts and compiled kernels are kept for later compiles; empty: nowhere.
  std::string cacheDir;
  /// Code that several compiles of this process share; null: none.
  codegen::CodeStore *codeStore = nullptr;
  /// For an artifact of which nobody is told: kernels are called after what is in them, so that they are shared however they are numbered.
  bool namesByContent = false;
  /// "int8", "int4", the file or the text of a quantization (docs/quantization.md); empty: as the model has it.
  std::string quantize;
  /// Gives the feeds of one run that shows ranges, in memory that is read until the next call; false: there are no more, or `problem` says
  /// why not. Null: no run is made.
  std::function<bool(std::vector<Feed> &feeds, std::string &problem)> nextSample;
  /// What quantizing must leave of every output, in decibels of signal to noise over these runs; contractions stay float until it does.
  /// 0: no bound.
  double leastDecibels = 0;
  /// The same as the largest error of any element.
  double largestError = 0;
  /// Of a compile that is a step of one that quantizes.
  const QuantizeStep *step = nullptr;
  /// libhewn_runtime.a; empty: it is looked for.
  std::string runtime;
  /// Told the name of each stage when it begins.
  std::function<void(llvm::StringRef stage)> progress;
};

struct CompileResult {
  bool ok = false;
  /// What `emit` asked for, without an output.
  std::string text;
  /// Every file that was written.
  std::vector<std::string> files;
  /// Of a compile that quantizes: what was chosen, as a text that `quantize` takes, and the report in JSON.
  std::string quantization, report;
  /// Facts for reports.
  std::string name;
  uint64_t weightsBytes = 0, numKernels = 0;
  std::vector<std::pair<std::string, double>> stageSeconds;
};

/// Never throws and never prints; where `ok` is false, `diagnostics` has an error.
CompileResult compile(const CompileOptions &options, Diagnostics &diagnostics);

/// What `CompileOptions.target` may be.
std::vector<std::string> compileTargets();
/// The libhewn_runtime.a that objects for such a target are linked with; empty where there is none.
std::string runtimeFor(llvm::StringRef target);
/// What `CompileOptions.emit` may be.
llvm::ArrayRef<llvm::StringRef> emitStages();

} // namespace hewn

#endif
