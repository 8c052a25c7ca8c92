// SPDX-License-Identifier: Apache-2.0
//
// Factors that divide activation channels and multiply their weights, so that both have a small
// quantization error. (Xiao et al., "SmoothQuant: Accurate and Efficient Post-Training Quantization
// for Large Language Models", 2023.)
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_SMOOTHING_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_SMOOTHING_H

#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "llvm/ADT/ArrayRef.h"

namespace hewn::quantize {

/// The weights of a contraction that reads the smoothed channels, as a tensor [outer, channel,
/// between, column, inner].
struct ChannelWeights {
  std::vector<float> elements;
  /// Sizes of the five dims of the weights tensor. If `columnsFirst`, the column dim comes where
  /// the channel dim otherwise is, and vice versa.
  int64_t outer = 1, first = 1, between = 1, second = 1, inner = 1;
  bool columnsFirst = false;
  int64_t channels() const { return columnsFirst ? second : first; }
  int64_t columns() const { return columnsFirst ? first : second; }
};

/// Returns a smoothing factor per channel: max|x_c|^strength / max|w_c|^(1 - strength), normalized
/// to a geometric mean of 1. If `strength` is negative, tries several strengths and no smoothing,
/// and selects the one with the least expected error of 8-bit rounding; max|x_c| is then an
/// estimate for other runs than the observed ones. Returns an empty vector if no smoothing is best.
/// `shiftsAreKnown` means that bias correction removes the mean error of the result that rounding
/// the weights causes.
std::vector<double> chooseFactors(const Evidence &evidence, llvm::ArrayRef<ChannelWeights> readers, double strength,
                                  bool shiftsAreKnown);

} // namespace hewn::quantize

#endif
