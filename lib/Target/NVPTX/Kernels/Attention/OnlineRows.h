// SPDX-License-Identifier: Apache-2.0
//
// Online softmax: finds a softmax between the two GEMMs of attention. The analysis matches the
// arithmetic that the row-wise ops emit, not the ops. The weights of a row must be
//
//     weights = powers / sum        sum = Σ powers
//     powers = exp(logits - maximum)   maximum = max(logits)
//
// where sum and maximum may have a constant lower bound (for rows that are masked entirely). The
// weights can then be computed tile by tile in one pass: when the maximum grows from m to m', all
// that was accumulated so far is multiplied by exp(m - m') (Milakov and Gimelshein 2018).
//
// NaN weights may be replaced by 0, as in PyTorch's export of rows that are masked entirely. All
// weights of a row are NaN if the sum of its exponentials is NaN or 0.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_ONLINEROWS_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_ONLINEROWS_H

#include "dialects/Graph/Contract/FusedAttention.h"
#include "lib/Codegen/ElementEmitter.h"

namespace hewn::codegen {

struct OnlineRows {
  mlir::Value logits, powers;
  graph::ReduceOpInterface maximum, sum;
  bool zeroesNaN = false;
  /// True if the sum has a constant lower bound above 1. The sum must then be relative to the row's
  /// exact maximum, not to an earlier one.
  bool hasLeastSum = false;
};

/// Returns the softmax between the two GEMMs, or the reason why there is none. Emits scratch code
/// at the insertion point and erases it.
OrReason<OnlineRows> onlineRows(ElementEmitter &e, const graph::FusedAttention &attention);

} // namespace hewn::codegen

#endif
