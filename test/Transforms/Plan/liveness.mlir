// Tests live ranges by the offsets of values in the arena: values that share an offset are never
// live at the same time.
// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --mlir-print-local-scope | FileCheck %s

// The operand of a kernel is live until the kernel has run, so that the kernel's result has another
// offset. After the run, the offset of the operand is free again.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 64>]
  %1 = plan.launch @k(%0) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %2 = plan.launch @k(%1) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  %3 = plan.launch @k(%2) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  return %3 : tensor<16xf32>
}

// -----

// An outer value that a loop's body reads is live in every step: no inner value may have its
// offset, before or after the read.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: plan.buffers = [#plan.buffer<arena, [[OUTSIDE:[0-9]+]]>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: graph.loop
  %1 = graph.loop %n, %c, %x {
  ^bb0(%i: tensor<i64>, %d: tensor<i1>, %s: tensor<16xf32>):
    // CHECK-NOT: #plan.buffer<arena, [[OUTSIDE]]>
    %2 = plan.launch @k(%0, %s) symbols [] : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    %3 = plan.launch @k(%2) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    %4 = plan.launch @k(%3) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    graph.yield %d, %4 : tensor<i1>, tensor<16xf32>
  } : (tensor<i64>, tensor<i1>, tensor<16xf32>) -> tensor<16xf32>
  // CHECK: plan.buffers = [#plan.buffer<output, 0>]
  %5 = plan.launch @k(%1) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  return %5 : tensor<16xf32>
}

// -----

// A value inside of a branch without outer users is dead in the other branch.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 64
func.func private @k()
func.func @main(%c: tensor<i1>, %x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0:2 = graph.if %c {
    // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
    %1 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    graph.yield %x, %x : tensor<16xf32>, tensor<16xf32>
  } else {
    // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
    %1 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    graph.yield %x, %x : tensor<16xf32>, tensor<16xf32>
  } : (tensor<i1>) -> (tensor<16xf32>, tensor<16xf32>)
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

// -----

// A loop-carried value of dynamic size: the first step and ops after the loop read the initial
// value in its own buffer.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<16xf32>) -> (tensor<1x?xi64> {graph.dims = [1, #graph.dim<"m">]}, tensor<16xf32>) {
  // CHECK: graph.non_zero {{.*}}plan.buffers = [#plan.buffer<arena, [[INITIAL:[0-9]+]]>]
  %0 = graph.non_zero %x {count = "m", graph.dims = [[1, #graph.dim<"m">]]} : (tensor<16xf32>) -> tensor<1x?xi64>
  // CHECK: graph.loop
  // CHECK-SAME: #plan.buffer<dynamic>
  // CHECK-NOT: #plan.buffer<arena, [[INITIAL]]>
  %1 = graph.loop %n, %c, %0 attributes {graph.dims = [[1, #graph.dim<"m">]], graph.region_dims = [[[], [], [1, #graph.dim<"m">]]]} {
  ^bb0(%i: tensor<i64>, %d: tensor<i1>, %s: tensor<1x?xi64>):
    %2 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    %3 = plan.launch @k(%2) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    graph.yield %d, %s : tensor<i1>, tensor<1x?xi64>
  } : (tensor<i64>, tensor<i1>, tensor<1x?xi64>) -> tensor<1x?xi64>
  %4 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  %5 = plan.launch @k(%4) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: return
  return %1, %5 : tensor<1x?xi64>, tensor<16xf32>
}
