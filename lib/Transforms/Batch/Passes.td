// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_BATCH_PASSES
#define HEWN_BATCH_PASSES

include "mlir/Pass/PassBase.td"

def TileBatchPass : Pass<"hewn-tile-batch", "::mlir::func::FuncOp"> {
  let summary = "Process the first part of a model per batch element if the batch exceeds the caches";
  let description = [{
    Kernels exchange values through memory. The values of one batch element can stay in a core's
    cache between kernels, while those of the entire batch go to memory and back. The pass puts the
    first ops of a model into a loop over the batch. The arena then holds the values of one batch
    element only.

    ```mlir
    %0 = graph.conv %x, %w : tensor<8x96x112x112xf32>
    %1 = graph.conv %0, %v : tensor<8x24x56x56xf32>
    // becomes
    %1 = graph.scan %x numStates = 0 {
    ^bb0(%item: tensor<3x224x224xf32>): ...
      %a = graph.conv %i, %w : tensor<1x96x112x112xf32>
      %b = graph.conv %a, %v : tensor<1x24x56x56xf32> ...
    ```

    Each iteration reads the weights again. The loop therefore contains only layers for which that
    costs less than the loop saves. Late layers of a convolutional network stay outside, because
    they have large weights and small feature maps.

    A batch element is an index of the first dim. The loop ends at ops that combine batch elements
    (`graph::batchRule`), and at all ops that depend on them. A dynamic batch size is assumed to be
    8.

    Not supported: GPU targets (their cores share a cache and need the entire batch for occupancy),
    dynamic sizes other than the batch, several batch elements per iteration, and loops in the
    middle of a model.
  }];
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def MergeGemvsPass : Pass<"hewn-merge-gemvs", "::mlir::func::FuncOp"> {
  let summary = "Merge GEMVs and skinny GEMMs with the same matrix into one GEMM";
  let description = [{
    A recurrence that a tracer has unrolled multiplies the input of each step by the same matrix.
    Each of these skinny GEMMs takes as long as reading the matrix. One GEMM of all rows reads the
    matrix only once.

    ```mlir
    %a = graph.slice %x [0, 0]
    %p = graph.matmul %a, %w : tensor<1x1024xf32>
    %b = graph.slice %x [1, 0]
    %q = graph.matmul %b, %w : tensor<1x1024xf32>
    // becomes
    %m = graph.matmul %x, %w : tensor<100x1024xf32>
    %p = graph.slice %m [0, 0]
    %q = graph.slice %m [1, 0]
    ```

    The rows of the merged GEMMs must be consecutive in memory. The pass looks through contiguous
    slices and through reshapes of them. Not merged: GEMMs of more than 8 rows, dynamic offsets, and
    results that a concat uses (the GEMM writes them into the concat's result).
  }];
}

#endif
