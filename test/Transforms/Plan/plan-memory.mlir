// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --hewn-verify-plan --mlir-print-local-scope | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="result not written in place: the input is used later"
// REMARK-DAG: Reason="result not written in place: the input's buffer is not in the arena, or another operand also reads it"

// The values of a chain of launches reuse memory: the third value has the arena offset of the
// first. The last launch computes its value in the output buffer.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 8192 : i64, plan.max_live = 8192 : i64
func.func private @k()
func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<arena, 4096>]
  %1 = plan.launch @k(%0) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<arena, 0>]
  %2 = plan.launch @k(%1) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<output, 0>]
  %3 = plan.launch @k(%2) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}

// -----

// Symbolic sizes: a value that is dead before the next starts shares its offset; views need no
// memory of their own.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = #graph.dim<"2048*batch*seq + $0">, plan.arena_levels = [#graph.dim<"max(2048*batch*seq, 64*floordiv(4*batch + 63, 64))">]
func.func private @k()
func.func @main(%x: tensor<?x?xf32> {graph.dims = [#graph.dim<"batch">, #graph.dim<"seq">]}) -> (tensor<?xf32>, tensor<?x?x512xf32>) {
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [#graph.dim<"batch">, #graph.dim<"seq">] {graph.dims = [[#graph.dim<"batch">, #graph.dim<"seq">, 512]]} : (tensor<?x?xf32>) -> tensor<?x?x512xf32>
  // CHECK: graph.reshape {{.*}}plan.buffers = [#plan.buffer<alias>]
  %1 = graph.reshape %0 {shape = [#graph.dim<"batch*seq">, 512], graph.dims = [[#graph.dim<"batch*seq">, 512]]} : (tensor<?x?x512xf32>) -> tensor<?x512xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, "$0">]
  %2 = plan.launch @k(%1) symbols [#graph.dim<"batch">, #graph.dim<"seq">] {graph.dims = [[#graph.dim<"batch">, #graph.dim<"seq">, 512]]} : (tensor<?x512xf32>) -> tensor<?x?x512xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %3 = plan.launch @k(%2) symbols [#graph.dim<"batch">] {graph.dims = [[#graph.dim<"batch">]]} : (tensor<?x?x512xf32>) -> tensor<?xf32>
  // CHECK: plan.buffers = [#plan.buffer<output, 0>]
  %4 = plan.launch @k(%3) symbols [#graph.dim<"batch">] {graph.dims = [[#graph.dim<"batch">]]} : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK: plan.buffers = [#plan.buffer<output, 1>]
  %5 = plan.launch @k(%2) symbols [#graph.dim<"batch">, #graph.dim<"seq">] {graph.dims = [[#graph.dim<"batch">, #graph.dim<"seq">, 512]]} : (tensor<?x?x512xf32>) -> tensor<?x?x512xf32>
  return %4, %5 : tensor<?xf32>, tensor<?x?x512xf32>
}

// -----

// A value whose size is read at run time is allocated then; a branch forwards its yielded value.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%n: tensor<1xi64>, %c: tensor<i1>) -> tensor<8xf32> {
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  // CHECK: plan.buffers = [#plan.buffer<dynamic>]
  %0 = plan.launch @k(%n) symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">]]} : (tensor<1xi64>) -> tensor<?xf32>
  // CHECK: graph.if
  // CHECK-SAME: plan.buffers = [#plan.buffer<forward>]
  %1 = graph.if %c {
    %2 = plan.launch @k(%0) symbols [#graph.dim<"u0">] : (tensor<?xf32>) -> tensor<8xf32>
    graph.yield %2 : tensor<8xf32>
  } else {
    %3 = plan.launch @k(%0) symbols [#graph.dim<"u0">] : (tensor<?xf32>) -> tensor<8xf32>
    graph.yield %3 : tensor<8xf32>
  } : (tensor<i1>) -> tensor<8xf32>
  // CHECK: return
  return %1 : tensor<8xf32>
}

// -----

// The output slice of a scan is computed in place; a state that is swapped with another one goes
// through a temporary buffer.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%h: tensor<4xf32>, %c: tensor<4xf32>, %x: tensor<10x4xf32>) -> (tensor<10x4xf32>) {
  // CHECK: graph.scan
  // CHECK-SAME: plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<arena, 64>, #plan.buffer<output, 0>]
  // CHECK-SAME: plan.staging = [unit, #plan.buffer<arena, 128>]
  %0:3 = graph.scan %h, %c, %x attributes {numStates = 2 : i64, backward = array<i1: false, false>} {
  ^bb0(%hh: tensor<4xf32>, %cc: tensor<4xf32>, %xx: tensor<4xf32>):
    // CHECK: plan.buffers = [#plan.buffer<slice, 2>]
    %1 = plan.launch @k(%hh, %cc, %xx) symbols [] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1, %hh, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<10x4xf32>)
  return %0#2 : tensor<10x4xf32>
}

// -----

// In place if the launch allows it and the input's live range ends there: the second result takes
// the first one's buffer; the third can't take the second's, which is returned.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 64 : i64
func.func private @k()
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %1 = plan.launch @k(%0) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: plan.buffers = [#plan.buffer<output, 0>]
  %2 = plan.launch @k(%1) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: plan.buffers = [#plan.buffer<output, 1>]
  %3 = plan.launch @k(%2) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Not in place: a later launch reads the operand that the kernel might overwrite.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 128 : i64
func.func private @k()
func.func private @add()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = plan.launch @add(%0, %1) symbols [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
