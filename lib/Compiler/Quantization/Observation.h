// SPDX-License-Identifier: Apache-2.0
//
// What runs over samples showed of one exposed operand.
#ifndef HEWN_LIB_COMPILER_QUANTIZATION_OBSERVATION_H
#define HEWN_LIB_COMPILER_QUANTIZATION_OBSERVATION_H

#include "lib/Compiler/LoadedLibrary.h"
#include "lib/Compiler/Quantization/Distribution.h"
#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "lib/Transforms/Quantize/Passes.h"

namespace hewn::quantize {

struct Observation {
  Distribution seen;
  Evidence evidence;

  /// A run's array of the operand: its distribution, and what each channel along `channelDim` holds.
  void add(const Array &array, std::optional<unsigned> channelDim);
  /// What another has seen of the same operand in other runs; moments are not taken over.
  void add(const Observation &other);
  /// The same of the array with each channel divided by its factor; its distribution alone.
  void addDivided(const Array &array, unsigned channelDim, llvm::ArrayRef<double> factors);
  /// Σ x xᵀ over every `step`th row, which lies along `channelDim`.
  void addMoments(const Array &array, unsigned channelDim, int64_t step);
  /// To be called when all are added: the other half of the sums, which are symmetric.
  void completeMoments();
};

/// The bytes that the moments of an array's rows take.
int64_t momentBytes(const Array &array, unsigned channelDim);

} // namespace hewn::quantize

#endif
