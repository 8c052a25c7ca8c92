// SPDX-License-Identifier: Apache-2.0
//
// A softmax between the products of a chain, by the arithmetic that its ops emit: whichever ops these are, the weights of a row are
//
//     weights = powers / sum,   sum = the sum of the powers,   powers = exp(logits - maximum),   maximum = that of the logits
//
// where the sum, and the maximum, may be a constant if that is larger (rows that are left out altogether). So they can be computed
// while the row comes, tile by tile: when the maximum grows from m to m', all that was added so far is multiplied by exp(m - m')
// (Milakov and Gimelshein 2018).
//
// Weights that are no numbers may be 0 instead, as PyTorch exports rows that are left out altogether. That they are none is a row's
// property: the sum of its powers is none, or 0.
#ifndef HEWN_LIB_CODEGEN_GRID_CHAIN_ONLINEROWS_H
#define HEWN_LIB_CODEGEN_GRID_CHAIN_ONLINEROWS_H

#include "dialects/Graph/Contract/Chain.h"
#include "lib/Codegen/KernelElements.h"

namespace hewn::codegen {

struct OnlineRows {
  mlir::Value logits, powers;
  graph::ReduceOpInterface maximum, sum;
  bool zeroesNaN = false;
  /// Whether a small sum is a constant above 1 instead: the sum must be that of the row's own maximum then, and of no lower one.
  bool hasLeastSum = false;
};

/// Or why the ops between are something else. Emits code at the builder's place and erases it.
Found<OnlineRows> onlineRows(KernelElements &e, const graph::Chain &chain);

} // namespace hewn::codegen

#endif
