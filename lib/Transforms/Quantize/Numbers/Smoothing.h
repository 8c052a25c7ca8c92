// SPDX-License-Identifier: Apache-2.0
//
// How far channels of activations are divided, and the weights' multiplied, so that both round well: the numbers. (Xiao et al., "SmoothQuant:
// Accurate and Efficient Post-Training Quantization for Large Language Models", 2023.)
#ifndef HEWN_LIB_TRANSFORMS_QUANTIZE_SMOOTHING_H
#define HEWN_LIB_TRANSFORMS_QUANTIZE_SMOOTHING_H

#include "lib/Transforms/Quantize/Numbers/Evidence.h"
#include "llvm/ADT/ArrayRef.h"

namespace hewn::quantize {

/// The weights of a contraction that reads the channels: element [o, c, m, n, i] of five dims, where c is the channel and n the column.
struct ChannelWeights {
  std::vector<float> elements;
  /// Dims outside of both, the channels, between, columns, inside; where columns lie outside of channels the two are swapped.
  int64_t outer = 1, first = 1, between = 1, second = 1, inner = 1;
  bool columnsFirst = false;
  int64_t channels() const { return columnsFirst ? second : first; }
  int64_t columns() const { return columnsFirst ? first : second; }
};

/// A factor a channel: max|x_c|^strength / max|w_c|^(1 - strength), of 1 in the geometric mean. A strength below 0: that of some, none among them,
/// after which rounding to 8 bits is expected to lose least, with peaks as other runs may have them. Empty: they are best left alone. `shiftsAreKnown`: what rounded weights make of a channel's mean
/// is taken off the sums again.
std::vector<double> chooseFactors(const Evidence &evidence, llvm::ArrayRef<ChannelWeights> readers, double strength,
                                  bool shiftsAreKnown);

} // namespace hewn::quantize

#endif
