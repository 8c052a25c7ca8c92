// SPDX-License-Identifier: Apache-2.0
//
// Runs models on calibration samples.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_SAMPLES_H
#define HEWN_LIB_COMPILER_QUANTIZATION_SAMPLES_H

#include "lib/Compiler/Compiler.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hewn::quantize {

/// A model that is compiled to run in this process. Its files are in a scratch folder, which is
/// removed on destruction.
class ScratchModel {
public:
  /// Compiles a model with `options`, except for the output, name and reports, which this function
  /// sets itself. Returns null after an error.
  static std::unique_ptr<ScratchModel> compile(CompileOptions options, Diagnostics &diagnostics);
  ScratchModel(const ScratchModel &) = delete;
  ~ScratchModel();
  LoadedLibrary &library() { return *loaded; }

private:
  ScratchModel() = default;
  std::string folder;
  std::unique_ptr<LoadedLibrary> loaded;
};

/// The calibration samples of a compile. Each sample is read once. The first ones, up to a memory
/// limit, are kept in memory to be run again.
///
/// For cross-validation, kept samples are distributed round-robin over kParts parts, of which one
/// may be held out. Ranges and factors are fitted to the other parts only, so that the errors on
/// the held-out part predict those on other data (Stone, "Cross-Validatory Choice and Assessment of
/// Statistical Predictions", 1974). If part 0 has fewer than two kept samples, nothing is held out:
/// all samples are fitted, and all are used for the comparison.
class Samples {
public:
  static constexpr unsigned kParts = 4;
  /// Number of the part that a kept sample belongs to, or kParts for a sample that is not kept.
  /// Samples that are not kept are never held out.
  using Group = unsigned;
  /// Value of a parameter `part` of this class if no part of the samples is held out.
  static constexpr unsigned kNoPart = kParts + 1;
  using Inputs = std::vector<Array>;
  explicit Samples(const CompileOptions &options) : options(options) {}

  /// Runs `model` on all samples and calls `visit` with the outputs of each. Returns false after an
  /// error: inputs that do not match the model, a failed run, a NaN, or no samples at all.
  bool run(LoadedLibrary &model, Diagnostics &diagnostics,
           llvm::function_ref<void(std::vector<Array> &outputs, Group group)> visit);
  bool areHeldOut() const;
  /// Returns the inputs of the kept samples to which the model is fitted if `part` is held out.
  std::vector<const Inputs *> fitted(unsigned part) const;
  /// Returns the inputs of the kept samples on which a model fitted without `part` is compared with
  /// the float model: the samples of that part, or all kept samples if nothing is held out.
  std::vector<const Inputs *> compared(unsigned part) const;
  /// Returns the numbers (from 1) of the kept samples that belong to `parts`, or an empty list if
  /// no part is held out.
  std::vector<int64_t> numbers(llvm::ArrayRef<unsigned> parts) const;
  int64_t count() const { return number; }

private:
  bool check(const LoadedLibrary &model, std::vector<Feed> &feeds, std::vector<Array> &arrays,
             Diagnostics &diagnostics) const;
  /// Keeps the sample in memory if the memory limit allows it. Returns the number of its part (see
  /// Group).
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

/// Returns the elements of a floating-point array as float32, or an empty list for other types. A
/// float32 array is not copied; other types are converted into `converted`.
llvm::ArrayRef<float> floatsOf(const Array &array, std::vector<float> &converted);

} // namespace hewn::quantize

#endif
