// SPDX-License-Identifier: Apache-2.0
// Passes that plan memory.
#ifndef HEWN_TRANSFORMS_PLAN_PASSES
#define HEWN_TRANSFORMS_PLAN_PASSES

include "mlir/Pass/PassBase.td"

def ConcatInPlacePass : Pass<"hewn-concat-in-place", "::mlir::ModuleOp"> {
  let summary = "Write concat operands directly into the result, as subviews";
  let description = [{
    If a kernel does nothing but concatenate or interleave tensors, the kernels that produce these
    tensors write them into the result's buffer. The concat becomes a `plan.assemble`, which does
    nothing at run time.

    ```mlir
    %a = plan.launch @conv(%x)
    %b = plan.launch @pool(%x)
    %c = plan.launch @concat(%a, %b)
    // becomes; the rows of %a and %b are strided
    %a = plan.launch @conv_1(%x)
    %b = plan.launch @pool_1(%x)
    %c = plan.assemble %a, %b along 1
    ```

    An operand becomes a subview if a launch in the same block produces it, if only this concat
    combines it, and if its layout equals the result's layout. Other operands are copied by kernels
    of their own; subviews have to be at least half of the result.

    Not rewritten:

    - GPU targets
    - sizes that are not known before a run
    - operands with many users (`kMaxSubviewReaders`)
    - strided operands with a user other than a kernel; for large results, with any other user
    - concats where peak memory would grow: the entire result is live from the first subview on, so
      an operand that is produced long before the others (as in a U-net) is better kept on its own
  }];
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def MarkInPlacePass : Pass<"hewn-mark-in-place", "::mlir::ModuleOp"> {
  let summary = "Mark the inputs of each launch that its result may overwrite";
  let description = [{
    ```mlir
    plan.kernel @add(%a: tensor<8xf32>, %b: tensor<1xf32>) { graph.add %a, %b }
    %1 = plan.launch @add(%0, %w) ...
    // becomes
    %1 = plan.launch @add(%0, %w) ... {plan.may_overwrite = array<i64: 0>}
    ```

    An input may be overwritten if it has the result's size and layout, and if the kernel reads its
    element i only to compute element i of the result (`SpaceMap`). This holds for inputs of
    elementwise kernels and for inputs of a contraction's epilogue, such as a residual connection.
    The operands of the contraction itself are read for many elements. Generated kernels compute
    each element of the result once, in disjoint tiles.

    Not marked: kernels with reductions, prefix scans or two contractions, and kernels with several
    results, because the order in which they read their inputs depends on the generated code.
    `hewn-plan-memory` checks whether the input has later users.
  }];
}

def AlternateTaskOrderPass : Pass<"hewn-alternate-task-order", "::mlir::ModuleOp"> {
  let summary = "Alternate the task order of kernels in loop bodies to reuse weights in cache";
  let description = [{
    A recurrence reads the same weights at each step. If they exceed the L2 cache and every step
    reads them in the same order, no step finds any of them in the cache: at the end of a step, an
    LRU cache has evicted the weights that the next step reads first. If every second step processes
    its tasks in reverse, it starts with the weights that the previous step left in the cache.

    The pass marks a launch in a loop body if its loop-invariant operands exceed the L2 cache and
    the loop-invariant operands of all other launches take less than half of the cache. Launches are
    not marked on GPU targets (thread blocks have no order), nor are kernels of int8 slice products
    (threads prepare activations before their first task, which the reversed order would repeat).
  }];
}

def OrderLaunchesPass : Pass<"hewn-order-launches", "::mlir::ModuleOp"> {
  let summary = "Reorder launches to reduce peak memory, and barriers in persistent kernels";
  let description = [{
    Exporters emit ops in an order that does not minimize memory. The pass reorders launches and
    views if peak memory falls (see OrderSearch.h).

    ```mlir
    %0 = plan.launch @extend(%x)
    %1 = plan.launch @extend(%y)
    %2 = plan.launch @sum(%0)
    %3 = plan.launch @sum(%1)
    // becomes: only one extended value is live at a time
    %0 = plan.launch @extend(%x)
    %2 = plan.launch @sum(%0)
    %1 = plan.launch @extend(%y)
    %3 = plan.launch @sum(%1)
    ```

    Runtime calls, loops, branches and ops that read symbols stay in place, and no launch is
    reordered across them. With symbolic sizes, the search for an order uses medium sizes. The order
    that it finds is applied if no sample of the sizes needs more memory and at least one needs
    less. An equally good order is not applied: the existing order probably has better cache reuse.
    Nothing is recomputed.

    On targets with persistent kernels, launches that read the same value are then made adjacent if
    no sample needs more memory. Phases that do not depend on each other share one barrier.

    ```mlir
    %1 = plan.launch @q(%0)
    %2 = plan.launch @transpose(%1)
    %3 = plan.launch @k(%0)
    // becomes
    %1 = plan.launch @q(%0)
    %3 = plan.launch @k(%0)
    %2 = plan.launch @transpose(%1)
    ```
  }];
}

def InsertTransfersPass : Pass<"hewn-insert-transfers", "::mlir::ModuleOp"> {
  let summary = "Insert transfers between host and device memory";
  let description = [{
    ```mlir
    %1 = plan.launch @k(%0) ...
    %v, %i = graph.top_k %1, %k ...
    // becomes
    %1 = plan.launch @k(%0) ...
    %2 = plan.copy %1 to host : ...
    %v, %i = graph.top_k %2, %k ...
    ```

    A value is transferred at most once, directly after its producer, for all users. Each transfer
    to the host waits for the device. Models without runtime calls and control flow need no
    transfers. Targets whose kernels run on the host have one memory, and their programs are not
    changed.
  }];
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def PlanMemoryPass : Pass<"hewn-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Assign a buffer to every value: arena offset, output, or run-time allocation";
  let description = [{
    ```mlir
    %1 = plan.launch @k0(%0) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
    %2 = plan.launch @k1(%1) symbols [] : (tensor<8xf32>) -> tensor<8xf32>
    return %2
    // becomes
    %1 = plan.launch @k0(%0) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} ...
    %2 = plan.launch @k1(%1) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} ...
    ```

    The function gets `plan.arena_bytes`. It also gets `plan.max_live` if all sizes are static, or
    `plan.arena_levels` if symbolic offsets refer to levels. See MemoryPlan.h for the rules.
  }];
}

def VerifyPlanPass : Pass<"hewn-verify-plan", "::mlir::ModuleOp"> {
  let summary = "Verify that the program can be emitted: known ops, a buffer for every result, no overlaps";
  let description = [{
    Verifies that the program contains only ops that it can execute, that every result has a buffer
    assignment of the right kind, and that no two buffers overlap in the arena while both are live.
    With symbolic sizes, overlaps are checked for sample sizes.
  }];
}

def DecidePersistentKernelsPass : Pass<"hewn-decide-persistent-kernels", "::mlir::ModuleOp"> {
  let summary = "Decide which adjacent launches become phases of one persistent kernel on a GPU";
  let description = [{
    A launch costs a GPU some thousand cycles from the end of one kernel to the start of the next.
    One step of a recurrence, of decoding, or of a small network often takes less time. If all
    thread blocks of one kernel are resident at once, they can wait for each other at grid-wide
    barriers. Such a barrier takes about half of the time of a launch.

    ```mlir
    %0 = plan.launch @a(%x)
    %1 = plan.launch @b(%0)
    // becomes
    %0 = plan.launch @a(%x) {plan.persistent = 0}
    %1 = plan.launch @b(%0) {plan.persistent = 0}
    ```

    Either an entire scan becomes part of a persistent kernel, or only launches inside of the scan
    do. In an entire scan, copies of loop-carried values are avoided where possible (Handover.h).

    All phases of a persistent kernel get the registers, threads and shared memory of the largest
    phase (Occupancy.h). A kernel with much work is therefore faster if it is launched on its own,
    with the resources that it needs. The cost model (PersistentCost.h) estimates both times. Each
    block of the program is split into persistent kernels by dynamic programming.

    Not phases: branches, loops with dynamic trip counts, host operations, run-time allocations, and
    warpgroup kernels. lib/Codegen/GPU/Persistent generates the kernels.
  }];
}

#endif
