// SPDX-License-Identifier: Apache-2.0
//
// What follows a sum over ranks, shared by rows.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_ROWS_H
#define HEWN_LIB_TRANSFORMS_PARTITION_ROWS_H

#include "lib/Transforms/Partition/Sharding.h"
#include <functional>

namespace hewn::partition {

/// What it takes, all ranks together, to add up so many bytes whole, to add them up so that each rank has its rows, and to gather them; and
/// to read or write a byte of one's own. In seconds, or whatever else is the same for all.
struct RowCosts {
  std::function<double(double bytes)> sum, scatter, gather;
  double ownByte;
};

/// Where nothing is known of links: bytes, and a message as many as ranks choose by.
RowCosts plainRowCosts(int64_t ranks);

/// Sequence parallelism (Korthikanti et al., 2022, "Reducing Activation Recomputation in Large Transformer Models") without its layers' names:
/// where ops behind a sum go over its rows one by one (residual sums, norms), each rank has the sum of its own rows alone, computes
/// these ops for them, and what readers want whole is gathered. That moves as many bytes as the whole sum does, in one message more; it is
/// chosen where the message costs less than the ops that a rank no longer does for the others' rows.
///
///     %s = graph.all_reduce %p : 8x512            %s = graph.reduce_scatter %p : 2x4x512 → 4x512
///     %y = graph.add %s, %x : 8x512          →    %r = graph.add %s, %x[a rank's half] : 4x512
///     %z = graph.matmul %y, ...                   %y = graph.all_gather %r
///                                                 %z = graph.matmul %y, ...
///
/// Ops of `others` want their operands whole, and make their results so.
void shareRows(mlir::Block &block, int64_t ranks, const RowCosts &costs,
               const llvm::DenseSet<mlir::Operation *> &others, Shardings &shardings);

} // namespace hewn::partition

#endif
