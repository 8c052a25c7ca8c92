// SPDX-License-Identifier: Apache-2.0
//
// What the normalizations share.
#ifndef HEWN_DIALECTS_GRAPH_REDUCE_NORMALIZE_NORMALIZE_H
#define HEWN_DIALECTS_GRAPH_REDUCE_NORMALIZE_NORMALIZE_H

#include "dialects/Graph/Builders/Compose.h"

namespace hewn::graph {

/// What the rows of Normalize.td verify; each is an op error where it fails.
llvm::LogicalResult verifyAxis(mlir::Operation *op, int64_t axis);
llvm::LogicalResult verifyChannels(mlir::Operation *op);
llvm::LogicalResult verifyGroups(mlir::Operation *op, int64_t groups);
llvm::LogicalResult verifyLRN(mlir::Operation *op, int64_t size);

/// Mean and 1/deviation over some dims, which stay as 1; and x less its mean.
struct Moments {
  mlir::Value mean, centered, inverse;
};
/// x is of the type that is computed in. Without `center` the mean is taken as
/// 0.
Moments composeMoments(Composer &c, mlir::Value x, llvm::ArrayRef<int64_t> dims, double epsilon, bool center = true);
/// The maxima of `x` along `axis`, for x less its maximum, of which powers are summed: of a row with a NaN the sum is NaN, whatever the maximum.
mlir::Value maximumOfLogits(Composer &c, mlir::Value x, int64_t axis);
/// f32 for narrow floats, else x's own element type.
mlir::Type normalizeType(mlir::Value x);
/// The dims from `from` to the last.
llvm::SmallVector<int64_t> dimsFrom(mlir::Value x, int64_t from);

} // namespace hewn::graph

#endif
