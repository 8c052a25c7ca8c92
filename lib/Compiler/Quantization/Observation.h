// SPDX-License-Identifier: Apache-2.0
//
// Calibration statistics of one observed operand of a contraction.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_OBSERVATION_H
#define HEWN_LIB_COMPILER_QUANTIZATION_OBSERVATION_H

#include "lib/Compiler/Load/LoadedLibrary.h"
#include "lib/Compiler/Quantization/Distribution.h"
#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "lib/Transforms/Quantize/Passes.h"

namespace hewn::quantize {

struct Observation {
  Distribution seen;
  Evidence evidence;

  /// Adds the operand's array of one run to the histogram, and to the statistics of each channel
  /// along `channelDim`.
  void add(const Array &array, std::optional<unsigned> channelDim);
  /// Adds the statistics that another observation of the same operand has collected, except for the
  /// moments.
  void add(const Observation &other);
  /// Adds an array of the operand to the histogram alone, with each channel divided by its
  /// smoothing factor in `factors`.
  void addDivided(const Array &array, unsigned channelDim, llvm::ArrayRef<double> factors);
  /// Adds x xᵀ to the second moments for every `step`th row x. A row contains the elements along
  /// `channelDim`.
  void addMoments(const Array &array, unsigned channelDim, int64_t step);
  /// Copies the lower triangle of the symmetric matrix of second moments to the upper one. Called
  /// after all rows are added.
  void completeMoments();
};

/// Returns the size in bytes of the second moments of an array's rows.
int64_t momentBytes(const Array &array, unsigned channelDim);

} // namespace hewn::quantize

#endif
