// SPDX-License-Identifier: Apache-2.0
//
// Runs of a model over samples.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_SAMPLES_H
#define HEWN_LIB_COMPILER_QUANTIZATION_SAMPLES_H

#include "lib/Compiler/Compiler.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hewn::quantize {

/// A model compiled for this process in a folder of its own, which goes with it.
class ScratchModel {
public:
  /// `options` say how, but for where to and what for. Null after an error.
  static std::unique_ptr<ScratchModel> compile(CompileOptions options, Diagnostics &diagnostics);
  ScratchModel(const ScratchModel &) = delete;
  ~ScratchModel();
  LoadedLibrary &library() { return *loaded; }

private:
  ScratchModel() = default;
  std::string folder;
  std::unique_ptr<LoadedLibrary> loaded;
};

/// The samples of a compile: each comes once; the first ones are kept, as far as some memory goes, to be run again.
class Samples {
public:
  explicit Samples(const CompileOptions &options) : options(options) {}

  /// Runs `model` on all samples; `visit` gets its outputs. False after an error: feeds that are not the model's inputs, a run that is refused,
  /// numbers that are not finite, no sample at all.
  bool run(LoadedLibrary &model, Diagnostics &diagnostics, llvm::function_ref<void(std::vector<Array> &outputs)> visit);
  /// The samples that were kept, as inputs of that model.
  llvm::ArrayRef<std::vector<Array>> kept() const { return inputs; }
  int64_t count() const { return number; }

private:
  bool check(const LoadedLibrary &model, std::vector<Feed> &feeds, std::vector<Array> &arrays,
             Diagnostics &diagnostics) const;

  const CompileOptions &options;
  std::vector<std::vector<Array>> inputs;
  int64_t keptBytes = 0, number = 0;
};

/// The elements of an array of floats, as float32; empty for other types.
std::vector<float> floatsOf(const Array &array);

} // namespace hewn::quantize

#endif
