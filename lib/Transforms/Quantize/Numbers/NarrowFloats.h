// SPDX-License-Identifier: Apache-2.0
//
// Weights as floats that are narrower than float32: the numbers.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_NARROWFLOATS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_NARROWFLOATS_H

#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// w ≈ float * scale. The floats lie as the weights do; scales are one a column, or none where they are all 1.
struct NarrowedWeights {
  std::vector<char> bytes;
  std::vector<float> scales;
  double signal = 0, noise = 0;
  bool isFinite = true;
};

/// Rounds to the nearest float of `storage`, halves to even; what is too large becomes the largest finite one. Floats of 8 bits (E4M3)
/// have scales, by which a column's largest weight is the largest of them.
NarrowedWeights narrowWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, Storage storage);

} // namespace hewn::quantize

#endif
