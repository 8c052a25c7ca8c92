// SPDX-License-Identifier: Apache-2.0
//
// Passes of the fuse stage: decide fusion groups, form them, outline them to kernels.
#ifndef HEWN_LIB_TRANSFORMS_FUSE_PASSES_H
#define HEWN_LIB_TRANSFORMS_FUSE_PASSES_H

#include "dialects/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
/// Two attributes of an op: the number of its fusion group, and the reason for the fusion as text.
/// Ops of a block with equal numbers form one group.
inline constexpr llvm::StringLiteral kGroupAttr = "graph.fusion_group", kWhyAttr = "graph.why";

/// Returns the number of the op's fusion group, or null if it has none.
inline mlir::IntegerAttr groupOf(mlir::Operation *op) { return op->getAttrOfType<mlir::IntegerAttr>(kGroupAttr); }

#define GEN_PASS_DECL
#include "lib/Transforms/Fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Fuse/Passes.h.inc"
} // namespace hewn

#endif
