// SPDX-License-Identifier: Apache-2.0
//
// Sequence parallelism: ranks shard the ops after a sum over ranks by rows.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_ROWS_H
#define HEWN_LIB_TRANSFORMS_PARTITION_ROWS_H

#include "lib/Transforms/Partition/Sharding.h"
#include <functional>

namespace hewn::partition {

/// Costs of transferring `bytes` over all ranks by an all-reduce, a reduce-scatter and an
/// all-gather, and of reading or writing one byte of a rank's own memory. In seconds, or in any
/// other common unit.
struct RowCosts {
  std::function<double(double bytes)> sum, scatter, gather;
  double ownByte;
};

/// Returns the transfer costs to assume if the links between ranks are unknown: the number of
/// bytes, plus the cost of a message in equivalent bytes.
RowCosts plainRowCosts(int64_t ranks);

/// Applies sequence parallelism (Korthikanti et al., 2022, "Reducing Activation Recomputation in
/// Large Transformer Models"), without knowledge of layer types. If ops after a sum over ranks work
/// row by row (residual additions, normalization), each rank keeps the sum of its own rows only,
/// and computes these ops for its rows. Values that users need in full are gathered. The gather and
/// the reduce-scatter together transfer as many bytes as the all-reduce, in one more message. Rows
/// are shared if that message costs less than computing the ops for all rows on each rank.
///
///     %s = graph.all_reduce %p : 8x512
///     %y = graph.add %s, %x : 8x512
///     %z = graph.matmul %y, ...
///     // becomes, on each of two ranks
///     %s = graph.reduce_scatter %p : 2x4x512 -> 4x512
///     %r = graph.add %s, %x[the rank's half] : 4x512
///     %y = graph.all_gather %r
///     %z = graph.matmul %y, ...
///
/// Ops of `others` need full operands and produce full results.
void shareRows(mlir::Block &block, int64_t ranks, const RowCosts &costs,
               const llvm::DenseSet<mlir::Operation *> &others, Shardings &shardings);

} // namespace hewn::partition

#endif
