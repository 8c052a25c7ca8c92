// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_PARTITION_PASSES
#define HEWN_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"hewn-partition", "::mlir::func::FuncOp"> {
  let summary = "Make the program of one rank of a model that is split over several";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"tensor", "tensor", "int64_t", "1", "Ranks among which contractions are cut">,
    Option<"stages", "stages", "int64_t", "1", "Groups of such ranks, one after another in the model">,
    Option<"microBatches", "micro-batches", "int64_t", "1", "Parts of a batch that go through the stages one behind the other">,
    Option<"orderedSums", "ordered-sums", "bool", "false", "Sums over ranks are made by kernels, of gathered addends in the ranks' order">,
    Option<"lines", "lines", "int64_t", "-1", "Percent of the constants that ranks have whole, and share what reads them by lines; below 0: as is best">,
    Option<"rank", "rank", "int64_t", "0", "Which of them the program is for">];
}

#endif
