// SPDX-License-Identifier: Apache-2.0
//
// Passes of the fuse stage: decide groups, form them, make kernels of them.
#ifndef HEWN_LIB_TRANSFORMS_FUSE_PASSES_H
#define HEWN_LIB_TRANSFORMS_FUSE_PASSES_H

#include "dialects/Plan/Plan.h"
#include "lib/Transforms/Simplify/ConstantEvaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
/// The decision: ops of a block with the same number are one group. Beside it, the reason in words.
inline constexpr llvm::StringLiteral kGroupAttr = "graph.in_group", kWhyAttr = "graph.why";

/// The number of the op's group; null: none.
inline mlir::IntegerAttr groupOf(mlir::Operation *op) { return op->getAttrOfType<mlir::IntegerAttr>(kGroupAttr); }

/// `evaluate` makes the tables; null: there are none.
std::unique_ptr<mlir::Pass> createTabulateCodesPass(ConstantEvaluator evaluate);

#define GEN_PASS_DECL
#include "lib/Transforms/Fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Fuse/Passes.h.inc"
} // namespace hewn

#endif
