// SPDX-License-Identifier: Apache-2.0
//
// Functions that the ops of Normalize.td and other decompositions use.
#ifndef HEWN_DIALECTS_GRAPH_REDUCE_NORMALIZE_NORMALIZE_H
#define HEWN_DIALECTS_GRAPH_REDUCE_NORMALIZE_NORMALIZE_H

#include "dialects/Graph/Builders/Compose.h"

namespace hewn::graph {

/// Verifiers of the ops in Normalize.td. Each emits an op error on failure.
llvm::LogicalResult verifyAxis(mlir::Operation *op, int64_t axis);
llvm::LogicalResult verifyChannels(mlir::Operation *op);
llvm::LogicalResult verifyGroups(mlir::Operation *op, int64_t groups);
llvm::LogicalResult verifyLRN(mlir::Operation *op, int64_t size);

/// Statistics of a tensor x over some dims, which are kept as 1: the mean, 1 / standard deviation
/// (`inverse`), and x minus the mean (`centered`).
struct Moments {
  mlir::Value mean, centered, inverse;
};
/// Emits mean and standard deviation of `x`, which must already have the type in which they are
/// computed. If `center` is false, the mean is taken as 0.
Moments composeMoments(Composer &c, mlir::Value x, llvm::ArrayRef<int64_t> dims, double epsilon, bool center = true);
/// Emits the maximum of `x` along `axis`, which a softmax subtracts. The reduction need not
/// propagate NaN: if a row contains NaN, the sum of the row is NaN for any maximum.
mlir::Value maximumOfLogits(Composer &c, mlir::Value x, int64_t axis);
/// Returns the type in which normalizations of x are computed: f32 for float types below 32 bits,
/// else the element type of x.
mlir::Type normalizeType(mlir::Value x);
/// Returns the list of the dims of x from dim `from` to the last one.
llvm::SmallVector<int64_t> dimsFrom(mlir::Value x, int64_t from);

} // namespace hewn::graph

#endif
