// SPDX-License-Identifier: Apache-2.0
//
// Passes that partition a model over ranks.
#ifndef HEWN_LIB_TRANSFORMS_PARTITION_PASSES_H
#define HEWN_LIB_TRANSFORMS_PARTITION_PASSES_H

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

/// Creates the pass. `costs` describes the links between the `tensor` ranks, or is null if they are
/// unknown.
std::unique_ptr<mlir::Pass> createPartitionPass(const PartitionPassOptions &options,
                                                std::shared_ptr<const partition::RowCosts> costs);
} // namespace hewn

#endif
