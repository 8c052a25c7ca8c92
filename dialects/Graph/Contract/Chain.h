// SPDX-License-Identifier: Apache-2.0
//
// Two contractions with rows between them: what attention is.
//
//     scores  = first(q, k)        a row of them for each row of q
//     weights = f(scores)          reductions over a row and elementwise ops: softmax, with scale and mask
//     result  = second(weights, v) sums over the row
//
// Rows of `scores` depend on rows of q alone, so all three steps can be done for a few rows at a time, and no more than those
// rows of scores are ever in memory. Any ops may stand between, as long as they keep rows apart.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_CHAIN_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_CHAIN_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Support/Remarks.h"

namespace hewn::graph {

struct Chain {
  ContractOpInterface first, second;
  /// What the ops between read, first's result or elementwise ops on it alone, and what they make.
  mlir::Value scores, weights;
  /// All ops by step, in program order, constants aside: up to `scores`, up to `weights`, the rest.
  llvm::SmallVector<mlir::Operation *> head, middle, tail;
  /// Dims of `scores`: batch dims, then rows, then columns.
  unsigned rowDim = 0;
  /// Whether weights may be written over scores: the ops between are one line of whole rows, with reductions of the scores and
  /// of one value more, so that nobody reads a score after what was made of it was kept.
  bool inPlace = false;

  /// Bytes of a column of a row, of scores and of weights where these have memory of their own.
  int64_t columnBytes() const;
};

/// `ops` (of one block, in program order) as a chain, or why they are none. `narrow`: whether floats narrower than 32 bits
/// will do, where who makes the chain keeps what is between in registers.
Found<Chain> findChain(llvm::ArrayRef<mlir::Operation *> ops, bool narrow = false);

} // namespace hewn::graph

#endif
