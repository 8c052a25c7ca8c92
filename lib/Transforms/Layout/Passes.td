// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LAYOUT_PASSES
#define HEWN_LAYOUT_PASSES

include "mlir/Pass/PassBase.td"

def FormPixelProductsPass : Pass<"hewn-form-pixel-products", "::mlir::func::FuncOp"> {
  let summary = "Multiply a matrix by the channels of pictures with lanes along pixels where those around don't want channels last";
}

def RepeatChannelsPass : Pass<"hewn-repeat-channels", "::mlir::func::FuncOp"> {
  let summary = "Give each column of a contraction in groups of one channel a channel of its own where that is faster";
}

def AssignLayoutsPass : Pass<"hewn-assign-layouts", "::mlir::func::FuncOp"> {
  let summary = "Choose the order of dims in memory for each value, and blocks for constant right operands";
  // Blocks are as wide as a schedule's tile.
  let dependentDialects = ["::hewn::plan::PlanDialect"];
  let options = [Option<"largestTile", "largest-tile", "int64_t", /*default=*/"0",
                        "Windows of constant weights may be transformed by Winograd's minimal filtering for tiles of up to so many "
                        "results a side, 2 or 4; 0: not">];
}

def PackConstantsPass : Pass<"hewn-pack-constants", "::mlir::func::FuncOp"> {
  let summary = "Apply changes of layout to constants when compiling";
}

#endif
