// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LAYOUT_PASSES
#define HEWN_LAYOUT_PASSES

include "mlir/Pass/PassBase.td"

def AssignLayoutsPass : Pass<"hewn-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose the order of dims in memory for each value, and blocks for constant right operands";
  // Blocks are as wide as a schedule's tile.
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def PackConstantsPass : Pass<"hewn-pack-constants", "::mlir::func::FuncOp"> {
  let summary = "Apply changes of layout to constants when compiling";
}

#endif
