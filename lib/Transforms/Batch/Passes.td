// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_BATCH_PASSES
#define HEWN_BATCH_PASSES

include "mlir/Pass/PassBase.td"

def LoopBatchesPass : Pass<"hewn-loop-batches", "::mlir::func::FuncOp"> {
  let summary = "Run the beginning of a model for one item of a batch after another, where the items together do not fit the caches";
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def JoinRowsPass : Pass<"hewn-join-rows", "::mlir::func::FuncOp"> {
  let summary = "Makes one product of all rows of those of one row after another by the same matrix";
}

#endif
