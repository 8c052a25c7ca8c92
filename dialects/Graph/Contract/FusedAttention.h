// SPDX-License-Identifier: Apache-2.0
//
// Matches fused attention: two contractions with row-wise ops between them.
//
//     scores  = first(q, k)        one row for each row of q
//     weights = f(scores)          row-wise reductions and elementwise ops (softmax)
//     result  = second(weights, v) reduces over the row
//
// A row of `scores` depends on only one row of q. A kernel can therefore compute all three steps
// for a small block of rows at a time, and keep only these rows of `scores` in memory. The matcher
// accepts any row-wise ops between the contractions, not only softmax.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACT_ATTENTION_H
#define HEWN_DIALECTS_GRAPH_CONTRACT_ATTENTION_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Support/Remarks.h"

namespace hewn::graph {

struct FusedAttention {
  ContractOpInterface first, second;
  /// Values of the fused attention: `scores` is the first contraction's result after the
  /// elementwise ops in `head`, and the input of the row-wise ops. `weights` is the output of the
  /// row-wise ops.
  mlir::Value scores, weights;
  /// All ops of the fused attention except constants, in program order: `head` computes `scores`,
  /// `middle` computes `weights`, and `tail` consists of the second contraction and the ops after
  /// it.
  llvm::SmallVector<mlir::Operation *> head, middle, tail;
  /// The number of the row dim in the dims of `scores`, the result of the first contraction. Batch
  /// dims are before the row dim, the column dim is after it.
  unsigned rowDim = 0;
  /// True if the weights can be stored over the scores. Condition: the row-wise ops form a single
  /// chain of full rows and reduce at most one value besides the scores. Then no op reads a score
  /// after it has been overwritten.
  bool inPlace = false;

  /// Returns the bytes of buffers that one column of a row of scores needs: a score, and a weight
  /// if weights have their own buffer.
  int64_t columnBytes() const;
};

/// Matches `ops`, which are in one block and in program order. Returns the reason if they are not
/// fused attention. `narrow`: also accepts float types below 32 bits, for kernel generators that
/// keep scores and weights in registers.
OrReason<FusedAttention> matchAttention(llvm::ArrayRef<mlir::Operation *> ops, bool narrow = false);

} // namespace hewn::graph

#endif
