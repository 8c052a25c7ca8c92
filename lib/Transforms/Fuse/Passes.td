// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_FUSE_PASSES
#define HEWN_FUSE_PASSES

include "mlir/Pass/PassBase.td"

def DecideFusionPass : Pass<"hewn-decide-fusion", "::mlir::func::FuncOp"> {
  let summary = "Decide which ops form one kernel; writes `graph.fusion_group` and the reason on each op";
  let description = [{
    Every kernel reads its operands from memory and writes its results to memory. The pass therefore
    puts an op into the kernel of its producers if one loop nest can compute both.

    ```mlir
    %0 = graph.matmul ...        {graph.fusion_group = 0}  // contraction: elementwise ops are its epilogue
    %1 = graph.add %0, %bias     {graph.fusion_group = 0}
    %2 = graph.reduce_max %1     {graph.fusion_group = 1}  // row-wise: reductions over the same dims
    %3 = graph.sub %1, %2        {graph.fusion_group = 1}
    %4 = graph.slice %3          {graph.fusion_group = 2}  // map: elementwise and indexing ops
    ```

    | kind of group | iteration space | members |
    | --- | --- | --- |
    | map | its result | elementwise and indexing ops |
    | rows | the reduced operand | reductions over the same dims and elementwise ops around them |
    | contraction | its result | one contraction and its elementwise epilogue |
    | fused attention | rows of the first GEMM | two contractions with row-wise ops between them |
    | alone | | a prefix scan, or a concat whose operands are written in place |

    Two ops are folded into the group of the contraction that reads their result: zero padding, and
    the dequantization of packed low-bit weights.

    Not fused, each with a `NotFused` remark at the consumer:

    - recomputation that costs too much: an expensive producer before a broadcast or a window, or a
      cheap one before several indexing ops that each read several elements (see `Recompute.h`)
    - an op that needs a value computed after the group's position (the groups would form a cycle)
    - a contraction and the producer of its operand, because it reads each element many times
    - two contractions, other than attention
    - ops whose fusion would give one kernel results with different dims
    - an op that reads the result of a reduction or contraction at another index than that of the
      kernel's current point (`SpaceMap`)

    The fusion pass walks the ops once in program order and does not revise decisions, with two
    exceptions. A row-wise kernel that would compute an expensive value in several passes is split.
    A sequence of indexing ops is split from a producer that is too expensive to recompute.
    `hewn-form-fusion-groups` applies the decisions.
  }];
  // The pass computes the cost of elementwise ops from their bodies.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"fuse", "fuse", "bool", "true", "Fuse ops; if false, each op is a kernel of its own">];
}

def SinkDequantizePass : Pass<"hewn-sink-dequantize", "::mlir::func::FuncOp"> {
  let summary = "Sink dequantize and extend ops into the fusion groups of their users";
  let description = [{
    Sinks ops that extend their operand to a type with more bits into the groups of their users. The
    tensor is then in memory with fewer bits, and each user extends it.

    ```mlir
    %q = graph.quantize %x    {graph.fusion_group = 0}
    %f = graph.dequantize %q  {graph.fusion_group = 0}
    %y = graph.add %z, %f     {graph.fusion_group = 1}
    // becomes
    %q = graph.quantize %x    {graph.fusion_group = 0}
    %f = graph.dequantize %q  {graph.fusion_group = 1}
    %y = graph.add %z, %f     {graph.fusion_group = 1}
    ```

    If several groups use the result of a dequantize or extend op, each gets a copy of the op:
    converting an element is cheaper than loading it with more bits. For example, the int8 values of
    residual and skip connections take a quarter of the cache that float32 values take.

    Not sunk:

    - values with a user that needs the extended tensor in memory (a contraction, a runtime call,
      the function's return)
    - expensive ops
    - ops with more than one operand that has several elements
    - values whose user has another layout
    - values that an indexing op reads so often that recomputing costs more
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def FoldToLookupTablePass : Pass<"hewn-fold-to-lookup-table", "::mlir::func::FuncOp"> {
  let summary = "Replace functions of one 8-bit integer by a lookup table where that is faster";
  let description = [{
    An 8-bit integer has 256 values. The pass evaluates a chain of elementwise ops for all of them
    at compile time, with the evaluator of constant folding, and replaces the chain by a table
    lookup.

    ```mlir
    %f = graph.dequantize %q, %scale, %zero
    %s = graph.sigmoid %f
    %r = graph.quantize %s, %other, %zero
    // becomes
    %r = graph.map_codes %q {table = [...]}
    ```

    A value is replaced if, within its fusion group, it depends on one 8-bit tensor and on scalar
    constants only. If a chain of ops quantizes several times, the table is indexed by the first
    8-bit tensor, so that it covers the entire chain. A lookup takes one scalar load per vector
    lane, so the ops that it replaces must cost more. See docs/decisions/kernels/lookup-tables.md.

    Not replaced by a table lookup: values with other dims than the 8-bit tensor; types other than
    float32, int8 and int16; tensors with few elements; GPU targets.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

def QuantizeByReciprocalPass : Pass<"hewn-quantize-by-reciprocal", "::mlir::func::FuncOp"> {
  let summary = "Replace the division of a quantization by multiplications with identical results";
  let description = [{
    Replaces the division by a constant scale by multiplications with its reciprocal if the
    quantized integers are identical for every float input.

    ```mlir
    %q = graph.quantize %x, %scale, %zero
    // becomes
    %q = graph.quantize_by_reciprocal %x, %factor, %rest, %least, %greatest, %zero
    ```

    dialects/Graph/Quant/Reciprocal.cpp has the algorithm and the supported scales. The op
    `graph.quantize_by_reciprocal` joins the fusion group of the op that it replaces. Not rewritten:
    targets without FMA, and GPU targets (not measured there).
  }];
}

def MatvecToReductionPass : Pass<"hewn-matvec-to-reduction", "::mlir::func::FuncOp"> {
  let summary = "Rewrite matrix-vector products whose matrix is contiguous along K as multiply and reduce";
  let description = [{
    The tiled matmul kernel vectorizes along the columns of the result. For a matrix-vector product
    that is inefficient: either the result has only one column, or the kernel needs a transposed
    copy of the matrix for a single use. This pass vectorizes the product along K instead, which
    reads each matrix element once, in memory order. Examples are attention of one query, `x * W^T`
    with one row of `x`, and row-wise dot products.

    ```mlir
    %t = graph.transpose %w : tensor<768x512xf32> -> tensor<512x768xf32>
    %y = graph.matmul %x, %t : tensor<1x512xf32>, tensor<512x768xf32>
    // becomes
    %0 = graph.mul %x, %w : tensor<768x512xf32>
    %y = graph.reduce_sum %0 over dim 1
    ```

    Not rewritten:

    - constant matrices (packing gives them the layout that the tiled kernel needs)
    - K below 32 (the tiled kernel is as fast) or dynamic
    - types other than f32, f64 and 8-bit integers extended to f32 (the target may have instructions
      for their dot products)
    - GPU targets
  }];
}

def FormFusionGroupsPass : Pass<"hewn-form-fusion-groups", "::mlir::func::FuncOp"> {
  let summary = "Wrap the ops of each fusion group into a graph.group";
  let description = [{
    Wraps the ops with equal `graph.fusion_group` into a `graph.group` at the position of the last
    one.

    ```mlir
    %1 = graph.add %0, %b {graph.fusion_group = 0}
    %2 = graph.relu %1    {graph.fusion_group = 0}
    // becomes
    %2 = graph.group(%0, %b) { ^bb0(%x, %y):
      %1 = graph.add %x, %y
      %2 = graph.relu %1
      graph.yield %2
    }
    ```

    Splat constants are cloned into the group and do not become operands. A group without results is
    not formed. This pass only applies the attribute `graph.fusion_group`, so tests can set group
    numbers by hand.
  }];
}

def OutlineKernelsPass : Pass<"hewn-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Outline each graph.group to a plan.kernel and a plan.launch; equal kernels become one";
  let description = [{
    ```mlir
    %0 = graph.group(%x, %b) { ... }
    // becomes
    plan.kernel @add_relu(...) { ... }
    %0 = plan.launch @add_relu(%x, %b) symbols []
    ```

    A kernel depends on shapes, layouts and types only. Its dims use the kernel's own symbols (s0,
    s1, in order of appearance), and each launch passes the values of these symbols. Groups that
    differ only in weights or symbol names therefore become one kernel, which is compiled once.

    | difference between otherwise equal groups | result |
    | --- | --- |
    | splat constants, such as scales of quantized layers | become kernel arguments |
    | positions, such as slice offsets (more than 8 groups) | become kernel symbols |

    Splat constants that are equal in all of these groups stay in the kernel, where code generation
    sees their values. Kernels are named by their ops.
  }];
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def SelectGpuTilesPass : Pass<"hewn-select-gpu-tiles", "::hewn::plan::KernelOp"> {
  let summary = "Select tiles and split-K factors of GPU kernels that use matrix instructions";
  let description = [{
    Writes a tile shape and a split-K factor on each GPU kernel that multiplies with matrix
    instructions.

    ```mlir
    plan.kernel @matmul(...)
    // becomes
    plan.kernel @matmul(...) attributes {schedule = #plan.gpu_tile<m = 64, n = 64, splits = 4>}
    ```

    The cost model for GPU tiles is in lib/Target/NVPTX/Schedule/MmaSchedule.h. K is split if the tiles alone do
    not occupy all multiprocessors. Kernels with other contractions, reductions or dynamic sizes are
    not split. An existing schedule is kept. lib/Codegen/AssignSchedules.cpp completes the schedule,
    after operand layouts are known.
  }];
}

def SplitKPass : Pass<"hewn-split-k", "::mlir::ModuleOp"> {
  let summary = "Split a kernel with a split-K schedule into partials and their sum";
  let description = [{
    Splits a kernel whose schedule has `splits` greater than 1 into two kernels. The first computes
    the split-K partials. The second sums them and applies the epilogue.

    ```mlir
    plan.kernel @k(%x, %w, %b) {
      %0 = graph.matmul %x, %w
      %1 = graph.add %0, %b
      graph.yield %1
    }
    // becomes
    plan.kernel @k_parts(%x, %w) {
      %0 = graph.matmul %x, %w {to = f32}
      %1 = graph.spread %0 {parts = 4}
      graph.yield %1
    }
    plan.kernel @k(%p, %b) {
      %0 = graph.reduce_sum %p {dims = [0], keepdims = false}
      %1 = graph.add %0, %b
      graph.yield %1
    }
    ```

    Splitting K costs one more launch, and memory for the float32 partials. It raises the occupancy
    for results that have fewer tiles than the GPU has multiprocessors. Partials are always summed
    in the same order.
  }];
}

def MarkResidentWeightsPass : Pass<"hewn-mark-resident-weights", "::mlir::ModuleOp"> {
  let summary = "Mark weights that GPU kernels may keep in shared memory across loop steps";
  let description = [{
    Each step of a recurrence reads the same weights. If a persistent kernel runs all steps, its
    thread blocks can keep their share of the weights in shared memory. This pass marks the operand.

    ```mlir
    plan.kernel @k(%h, %w)
    // becomes
    plan.kernel @k(%h, %w) attributes {plan.resident_weights = 1}
    ```

    The marked operand is a constant argument of the kernel's only contraction, a skinny GEMM or
    GEMV. A block's share has to fit its shared memory, and all blocks that hold a share have to be
    resident at once. Resident weights save the time of loading them at each step. They take shared
    memory, so fewer blocks are resident.

    lib/Codegen/GPU/Persistent decides whether a persistent kernel is formed. If the host runs the
    loop, no weights are resident. Kernels that use matrix instructions are not marked.
  }];
}

def InsertScratchPass : Pass<"hewn-insert-scratch", "::mlir::ModuleOp"> {
  let summary = "Add the scratch memory that the schedules of kernels need";
  let description = [{
    Applies the attribute `plan.scratch`, which `hewn-assign-schedules` sets: adds scratch memory as
    the first result of the kernel and of its launches, and removes scratch memory of another size.
    The memory planner then allocates it in the arena while the kernel runs.

    ```mlir
    plan.kernel @k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {plan.scratch = [64]}
    %y = plan.launch @k(%x)
    // becomes
    plan.kernel @k(%x: tensor<4x8xf32>) -> (tensor<64xf32>, tensor<4x8xf32>)
    %scratch, %y = plan.launch @k(%x)
    ```
  }];
}

def VerifyKernelsPass : Pass<"hewn-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Verify that all computation is inside of kernels that code generation supports";
  let description = [{
    Runs at the end of the kernels stage and verifies:

    - every op that computes is inside of a kernel, and a kernel contains only ops of the five
      categories
    - constants in a kernel are splats
    - outside of kernels there are only constants, views, symbols, runtime calls, If, Loop and Scan
    - a kernel declares the symbols of its dims
    - a kernel reads the result of its contraction or reductions only at the index of the current
      point of its iteration space (`SpaceMap`)
    - a launch may overwrite an input only if the kernel reads no element of it after writing that
      element
  }];
}

#endif
