// SPDX-License-Identifier: Apache-2.0
//
// Passes that split a model over ranks.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_PASSES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_PASSES_H

#include "lib/Support/WeightTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
#define GEN_PASS_DECL
#include "lib/Transforms/Partition/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Partition/Passes.h.inc"

namespace partition {
struct RowCosts;
}

/// `weights` knows which constants are others' transpositions; null: none is. `costs` are those of the links between `tensor` ranks; null:
/// nothing is known of them.
std::unique_ptr<mlir::Pass> createPartitionPass(const PartitionPassOptions &options, WeightTable *weights,
                                                std::shared_ptr<const partition::RowCosts> costs);
} // namespace hewn

#endif
