// SPDX-License-Identifier: Apache-2.0
//
// Rounds weights to float16, bfloat16 or float8.
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_NARROWFLOATS_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_NARROWFLOATS_H

#include "lib/Transforms/Quantize/Numbers/RoundWeights.h"

namespace hewn::quantize {

/// Weights that are rounded to a smaller float type, with w ≈ float * scale. `bytes` has the order
/// of the weights. `scales` has one element per column, or is empty if all scales are 1.
struct NarrowedWeights {
  std::vector<char> bytes;
  std::vector<float> scales;
  double signal = 0, noise = 0;
  bool isFinite = true;
};

/// Rounds weights to the nearest float of `storage`, ties to even. Larger weights saturate at the
/// largest finite value. float8 (E4M3) has a scale per column, which maps the column's largest
/// magnitude to the largest finite value.
NarrowedWeights narrowWeights(llvm::ArrayRef<float> weights, const ColumnLayout &layout, Storage storage);

} // namespace hewn::quantize

#endif
