// SPDX-License-Identifier: Apache-2.0
//
// Prepares constants before shardings are chosen: stores a table that is used both for lookups and
// in a matmul once, and pads large dims that are not divisible by the number of ranks.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_TABLES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_TABLES_H

#include "mlir/IR/Block.h"

namespace hewn::partition {

/// Replaces a constant that folding computed as the transpose of another used constant by a
/// transpose of that constant, so that both are sharded alike. After sharding, the transposes are
/// folded again.
void tieTables(mlir::Block &block);

/// Pads a large dim of constants of contractions, also through a transpose, to a multiple of
/// `ranks`, and slices the result. The dim must be a dim of the contraction's result. Other users
/// of the constant read the padded constant too, if they can; lookups along the dim can. If another
/// lookup cannot, the constant is not changed.
void padTables(mlir::Block &block, int64_t ranks);

} // namespace hewn::partition

#endif
