// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_PARTITION_PASSES
#define HEWN_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"hewn-partition", "::mlir::func::FuncOp"> {
  let summary = "Build the program of one rank of a model that is partitioned over several ranks";
  let description = [{
    ```mlir
    %h = graph.matmul %x, %w1 : 8x512, 512x2048
    %r = graph.relu %h
    %y = graph.matmul %r, %w2 : 8x2048, 2048x512
    // becomes, on each of two ranks
    %h = graph.matmul %x, %w1[:, the rank's half] : 8x512, 512x1024
    %r = graph.relu %h : 8x1024
    %p = graph.matmul %r, %w2[the rank's half, :] : 8x1024, 1024x512
    %y = graph.all_reduce %p
    ```

    | kind of parallelism | file |
    | --- | --- |
    | tensor parallelism: constants are sharded | Sharding.h |
    | sequence parallelism: rows after a sum are sharded | Rows.h |
    | spatial sharding with halos: feature maps are sharded | SpatialShards.h |
    | pipeline parallelism: stages, with micro-batches | Stages.h, MicroBatches.h |

    The program of a rank has a value as a shard, in full, or both. Shards are gathered at most
    once, before the first user of the full value. A shard of a full value is a slice; slices of
    constants are folded later. The programs of all ranks are equal except for their constants,
    unless a dynamic value is sliced. Halo rows of a spatial shard are sent as soon as they are
    computed. With spatial shards, the programs of the first and the last rank also differ in the
    padding.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"tensor", "tensor", "int64_t", "1", "Number of tensor-parallel ranks, which shard contractions">,
    Option<"stages", "stages", "int64_t", "1", "Number of pipeline stages, each with `tensor` ranks">,
    Option<"microBatches", "micro-batches", "int64_t", "1", 
           "Number of micro-batches that go through the pipeline stages">,
    Option<"orderedSums", "ordered-sums", "bool", "false",
           "Sum over ranks with kernels, on gathered addends in rank order (deterministic)">,
    Option<"lines", "lines", "int64_t", "-1",
           "Percentage of constant bytes whose ops are sharded spatially, with full constants on each "
           "rank; below 0: chosen by cost">,
    Option<"rank", "rank", "int64_t", "-1",
           "The rank to build the program for; below 0: that of the module (graph.rank), or 0">];
}

#endif
