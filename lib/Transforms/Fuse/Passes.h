// SPDX-License-Identifier: Apache-2.0
//
// Passes of the fuse stage: decide groups, form them, make kernels of them.
#ifndef HEWN_LIB_TRANSFORMS_FUSE_PASSES_H
#define HEWN_LIB_TRANSFORMS_FUSE_PASSES_H

#include "dialects/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
/// The decision: ops of a block with the same number are one group. Beside it, the reason in words.
inline constexpr llvm::StringLiteral kGroupAttr = "graph.in_group", kWhyAttr = "graph.why";

#define GEN_PASS_DECL
#include "lib/Transforms/Fuse/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Fuse/Passes.h.inc"
} // namespace hewn

#endif
