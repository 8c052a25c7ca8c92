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
/// They are in kParts parts by turns. While a part is held out nothing is fitted to it, so that what it shows of a choice is what other data show (Stone,
/// "Cross-Validatory Choice and Assessment of Statistical Predictions", 1974). Nothing is held out where part 0 has no two that are kept: all are fitted
/// to then, and the same show the choice.
class Samples {
public:
  static constexpr unsigned kParts = 4;
  /// Of a sample: its part where it is kept, or kParts, of which nothing is held out.
  using Group = unsigned;
  /// Stands for a part where none is held out.
  static constexpr unsigned kNoPart = kParts + 1;
  using Inputs = std::vector<Array>;
  explicit Samples(const CompileOptions &options) : options(options) {}

  /// Runs `model` on all samples; `visit` gets its outputs of each. False after an error: feeds that are not the model's inputs, a run that is
  /// refused, NaN, no sample at all.
  bool run(LoadedLibrary &model, Diagnostics &diagnostics,
           llvm::function_ref<void(std::vector<Array> &outputs, Group group)> visit);
  bool areHeldOut() const;
  /// Those that were kept, as inputs of that model, and are fitted to while `part` is held out.
  std::vector<const Inputs *> fitted(unsigned part) const;
  /// Those that choices are judged by while `part` is held out: it, or all that were kept where none is.
  std::vector<const Inputs *> compared(unsigned part) const;
  /// The numbers of the samples of these parts that are kept, from 1 on; none where nothing is held out.
  std::vector<int64_t> numbers(llvm::ArrayRef<unsigned> parts) const;
  int64_t count() const { return number; }

private:
  bool check(const LoadedLibrary &model, std::vector<Feed> &feeds, std::vector<Array> &arrays,
             Diagnostics &diagnostics) const;
  /// Keeps the sample, if memory has room for it.
  Group keep(Inputs arrays);
  bool runOne(LoadedLibrary &model, const std::vector<Array> &arrays, std::vector<Array> &outputs, int64_t which,
              Diagnostics &diagnostics) const;
  std::vector<const Inputs *> those(llvm::function_ref<bool(Group group)> are) const;

  const CompileOptions &options;
  struct Kept {
    int64_t number;
    Group group;
    Inputs inputs;
  };
  std::vector<Kept> kept;
  int64_t firstBytes = 0, otherBytes = 0, number = 0;
};

/// The elements of an array of floats, as float32; none for other types. Of float32 they are the array's own bytes, else they are in `converted`.
llvm::ArrayRef<float> floatsOf(const Array &array, std::vector<float> &converted);

} // namespace hewn::quantize

#endif
