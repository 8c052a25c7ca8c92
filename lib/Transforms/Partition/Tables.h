// SPDX-License-Identifier: Apache-2.0
//
// Constants as ranks can divide them, before it is decided what they share: tables that are looked up in and multiplied are one constant, and
// large dims that ranks do not divide get zeros behind them.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_TABLES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_TABLES_H

#include "lib/Support/WeightTable.h"
#include "mlir/IR/Block.h"

namespace hewn::partition {

/// A constant that folding made by transposing another one, which somebody reads as well, is its transposition again. What is made of
/// parts folds anew.
void tieTables(mlir::Block &block, WeightTable &weights);

/// Where a contraction's constant, or that of which it is the transposition, has a large dim that `ranks` do not divide and that the result
/// runs along: pads it, and cuts the result off behind. So does whoever else reads the constant and can do with more of it; lookups along the
/// dim read the padded one as well. Where another lookup can't, the constant stays as it is.
void padTables(mlir::Block &block, int64_t ranks);

} // namespace hewn::partition

#endif
