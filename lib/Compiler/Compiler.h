// SPDX-License-Identifier: Apache-2.0
//
// Compiles a model to files, or to the text of a stage.
#ifndef HEWN_LIB_COMPILER_COMPILER_H
#define HEWN_LIB_COMPILER_COMPILER_H

#include "lib/Compiler/Load/LoadedLibrary.h"
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

/// An input array of a calibration run, with the name of the model's input. The name may be empty
/// if the model has one input.
struct Feed {
  std::string name;
  Array array;
};

struct CompileOptions {
  /// Path of the model (.onnx, .onnxtxt, or .mlir of any stage). If it is empty, the model is given
  /// as bytes, with the folder of its external data.
  std::string modelPath;
  llvm::StringRef modelBytes;
  std::string modelFolder;
  /// Path of the artifact to write. The extension selects its type: .so, .a or .o. Empty if only
  /// the text of a stage (`emit`) is needed.
  std::string output;
  /// Stage whose text is emitted, one of `emitStages`. The text is written to the file `output`, or
  /// returned in the result if `output` is empty or "-". If `emit` is empty, an artifact is
  /// compiled.
  std::string emit;
  /// For the text of a stage as input: the file of its weights, which `saveWeights` wrote. Empty if
  /// the text refers to none, or if only text is emitted.
  std::string weights;
  /// If `emit` is a stage whose text is MLIR: the file to which its weights are written. The text
  /// then contains the names of nodes, too. A compile that continues from both files gives the same
  /// artifact. Empty if the weights are not needed.
  std::string saveWeights;
  std::string target = "host";
  /// Values or ranges of the model's symbolic dims: "batch=1", "seq=1..512", "seq=1,128,1..512".
  std::vector<std::string> dims;
  /// How dims of inputs with the same name are related: "strict" (they are equal) or "lenient"
  /// (they are equal if the model requires it).
  std::string dimNames = "lenient";
  /// Resource limits such as "nodes=1000" for models that expand beyond their file size
  /// (lib/Support/Limits.h).
  std::vector<std::string> limits;
  /// Precision of float32 contractions (--float32-precision): "highest", "high", "medium"
  /// (lib/Support/Precision.h).
  std::string precision = "highest";
  /// Definitions of custom ops: files or their texts (docs/custom-ops.md).
  std::vector<std::string> customOps;
  /// Addresses of custom op functions in this process, by symbol. For `transient` artifacts only.
  std::vector<std::pair<std::string, uint64_t>> customFunctions;
  /// Tuning files of `hewn tune` with measured schedules, as paths or as texts
  /// (docs/tutorials/tuning.md). Entries for other targets are ignored.
  std::vector<std::string> tunings;
  /// Partition of the model over ranks: "tensor=2", "pipeline=2",
  /// "tensor=2,pipeline=2,microbatches=4" or "auto" (docs/tutorials/partition.md). Empty if the
  /// model is not partitioned.
  std::string partition;
  /// Description of the cluster: the path of a file, or its text, which starts with a brace
  /// (docs/reference/cluster.md). If `partition` is "auto", the best partition for this cluster is
  /// chosen. The stages explain and explain-json report the estimated time of each partition.
  std::string cluster;
  /// Number of compile threads; 0 for the number of hardware threads.
  int jobs = 0;
  /// Name of the model in the C header and in symbols. If empty, it is derived from the file name
  /// of the output or of the model.
  std::string name;
  bool optimize = true;
  /// True if the weights are linked into the artifact, instead of being written to a weights file.
  /// At most 1 GiB.
  bool embedWeights = false;
  /// True if only this process uses the artifact, so that its files need not be flushed to disk.
  bool transient = false;
  /// Path of a file to which missed-optimization remarks are written: as JSON if it ends in .json,
  /// otherwise as YAML. Empty if no remarks are needed.
  std::string remarks;
  /// True if the result should also contain the text of the stage explain-json.
  bool explain = false;
  /// Folder of the artifact and kernel cache. Empty if nothing is cached.
  std::string cacheDir;
  /// Store of kernel code that several compiles of this process share, or null.
  codegen::CodeStore *codeStore = nullptr;
  /// True if kernels are named by a hash of their content instead of a number, so that several
  /// compiles can share kernel code. Used for artifacts that only the compiler itself runs.
  bool namesByContent = false;
  /// How the model is quantized: "int8", "int4", or a quantization as a file or a text
  /// (docs/quantization.md). Empty if the model is not quantized.
  std::string quantize;
  /// Provides calibration samples. Each call stores the inputs of the next run in `feeds`; their
  /// memory must stay valid until the next call. Returns false if there are no more samples, or
  /// after an error, which is then in `problem`. Null if there are no calibration samples.
  std::function<bool(std::vector<Feed> &feeds, std::string &problem)> nextSample;
  /// Lower bound in decibels of the signal-to-noise ratio of every output, compared with the float
  /// model. Contractions fall back to float until the calibration samples satisfy the bound. 0 if
  /// there is no bound.
  double leastDecibels = 0;
  /// Upper bound of the absolute error of every output element, compared with the float model.
  /// Contractions fall back to float as for `leastDecibels`. 0 if there is no bound.
  double largestError = 0;
  /// Describes the step, if this compile is a step of a quantizing compile. For any other compile
  /// the pointer is null.
  const QuantizeStep *step = nullptr;
  /// The path of libhewn_runtime.a. If empty, the compiler searches for it.
  std::string runtime;
  /// Called with the name of each stage when it starts.
  std::function<void(llvm::StringRef stage)> progress;
  /// Returns true if the compile should end without a result. Called between passes and kernels, by
  /// several threads at once. May be null.
  std::function<bool()> isCancelled;
};

struct CompileResult {
  bool ok = false;
  /// Text of the stage `emit`, if no output file was given.
  std::string text;
  /// Paths of all files that the compile has written.
  std::vector<std::string> files;
  /// Paths of the files that the artifact depends on: the model, its external data, definitions and
  /// code of custom ops, tunings, and the descriptions of the cluster and the quantization.
  std::vector<std::string> inputs;
  /// Result of a quantizing compile: the chosen quantization as a text for `quantize`, and the
  /// report in JSON.
  std::string quantization, report;
  /// Name of the compiled model, and statistics about the model for reports.
  std::string name;
  uint64_t weightsBytes = 0, numKernels = 0;
  std::vector<std::pair<std::string, double>> stageSeconds;
};

/// Compiles a model. Throws no exceptions and prints nothing. If `ok` is false in the result,
/// `diagnostics` contains an error.
CompileResult compile(const CompileOptions &options, Diagnostics &diagnostics);

/// Returns the valid values of `CompileOptions.target`.
std::vector<std::string> compileTargets();
/// Returns the path of libhewn_runtime.a for the target `target`, or an empty string if there is
/// none.
std::string runtimeFor(llvm::StringRef target);
/// Returns the valid values of `CompileOptions.emit`.
llvm::ArrayRef<llvm::StringRef> emitStages();

} // namespace hewn

#endif
