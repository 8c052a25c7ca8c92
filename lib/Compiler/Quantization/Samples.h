// SPDX-License-Identifier: Apache-2.0
//
// Runs of a model over samples.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_SAMPLES_H
#define HEWN_LIB_COMPILER_QUANTIZATION_SAMPLES_H

#include "lib/Compiler/Compiler.h"
#include "llvm/ADT/ArrayRef.h"
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
///
/// Every fourth is held out, where two are and memory has room for them: nothing is fitted to it, so that what it shows of a choice is what other data show (Stone,
/// "Cross-Validatory Choice and Assessment of Statistical Predictions", 1974). Else all are fitted to, and the same show the choice.
class Samples {
public:
  explicit Samples(const CompileOptions &options) : options(options) {}

  /// Runs `model` on all samples; `visit` gets its outputs of those that are not held out. False after an error: feeds that are not the model's
  /// inputs, a run that is refused, NaN, no sample at all.
  bool run(LoadedLibrary &model, Diagnostics &diagnostics, llvm::function_ref<void(std::vector<Array> &outputs)> visit);
  /// Those to fit to that were kept, as inputs of that model.
  llvm::ArrayRef<std::vector<Array>> fitted() const { return inputs; }
  /// Those that choices are judged by: the ones that are held out, or where there are none all that were kept.
  llvm::ArrayRef<std::vector<Array>> compared() const { return held.empty() ? inputs : held; }
  /// The numbers of those that are held out, from 1 on.
  llvm::ArrayRef<int64_t> heldOut() const { return heldNumbers; }
  int64_t count() const { return number; }

private:
  bool check(const LoadedLibrary &model, std::vector<Feed> &feeds, std::vector<Array> &arrays,
             Diagnostics &diagnostics) const;
  /// Whether the sample is kept to be judged by.
  bool holdsOut(std::vector<Array> &arrays);
  void keep(std::vector<Array> arrays);
  /// Fits to what was held out after all.
  bool takeBack(LoadedLibrary &model, Diagnostics &diagnostics,
                llvm::function_ref<void(std::vector<Array> &outputs)> visit);
  bool runOne(LoadedLibrary &model, const std::vector<Array> &arrays, std::vector<Array> &outputs, int64_t which,
              Diagnostics &diagnostics) const;

  const CompileOptions &options;
  std::vector<std::vector<Array>> inputs, held;
  std::vector<int64_t> heldNumbers;
  int64_t keptBytes = 0, heldBytes = 0, number = 0;
};

/// The elements of an array of floats, as float32; none for other types. Of float32 they are the array's own bytes, else they are in `converted`.
llvm::ArrayRef<float> floatsOf(const Array &array, std::vector<float> &converted);

} // namespace hewn::quantize

#endif
