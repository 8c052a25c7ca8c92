// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --hewn-verify-plan --mlir-print-local-scope | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="what it might write over is needed afterwards"
// REMARK-DAG: Reason="what it might write over is not the arena's, or is read otherwise as well"

// A chain reuses memory: the third value lies where the first was. The last one is made in the output.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 8192 : i64, plan.max_live = 8192 : i64
func.func private @k()
func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  // CHECK: plan.launch {{.*}}plan.places = [#plan.place<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.places = [#plan.place<arena, 4096>]
  %1 = plan.launch @k(%0) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.places = [#plan.place<arena, 0>]
  %2 = plan.launch @k(%1) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.places = [#plan.place<output, 0>]
  %3 = plan.launch @k(%2) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  return %3 : tensor<1024xf32>
}

// -----

// Symbolic sizes: what is dead when the next begins gives its place; views take no memory of their own.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = #graph.dim<"2048*batch*seq + $0">, plan.arena_levels = [#graph.dim<"max(2048*batch*seq, 64*floordiv(4*batch + 63, 64))">]
func.func private @k()
func.func @main(%x: tensor<?x?xf32> {graph.dims = [#graph.dim<"batch">, #graph.dim<"seq">]}) -> (tensor<?xf32>, tensor<?x?x512xf32>) {
  // CHECK: plan.places = [#plan.place<arena, 0>]
  %0 = plan.launch @k(%x) symbols [#graph.dim<"batch">, #graph.dim<"seq">] {graph.dims = [[#graph.dim<"batch">, #graph.dim<"seq">, 512]]} : (tensor<?x?xf32>) -> tensor<?x?x512xf32>
  // CHECK: graph.reshape {{.*}}plan.places = [#plan.place<alias>]
  %1 = graph.reshape %0 {shape = [#graph.dim<"batch*seq">, 512], graph.dims = [[#graph.dim<"batch*seq">, 512]]} : (tensor<?x?x512xf32>) -> tensor<?x512xf32>
  // CHECK: plan.places = [#plan.place<arena, "$0">]
  %2 = plan.launch @k(%1) symbols [#graph.dim<"batch">, #graph.dim<"seq">] {graph.dims = [[#graph.dim<"batch">, #graph.dim<"seq">, 512]]} : (tensor<?x512xf32>) -> tensor<?x?x512xf32>
  // CHECK: plan.places = [#plan.place<arena, 0>]
  %3 = plan.launch @k(%2) symbols [#graph.dim<"batch">] {graph.dims = [[#graph.dim<"batch">]]} : (tensor<?x?x512xf32>) -> tensor<?xf32>
  // CHECK: plan.places = [#plan.place<output, 0>]
  %4 = plan.launch @k(%3) symbols [#graph.dim<"batch">] {graph.dims = [[#graph.dim<"batch">]]} : (tensor<?xf32>) -> tensor<?xf32>
  // CHECK: plan.places = [#plan.place<output, 1>]
  %5 = plan.launch @k(%2) symbols [#graph.dim<"batch">, #graph.dim<"seq">] {graph.dims = [[#graph.dim<"batch">, #graph.dim<"seq">, 512]]} : (tensor<?x?x512xf32>) -> tensor<?x?x512xf32>
  return %4, %5 : tensor<?xf32>, tensor<?x?x512xf32>
}

// -----

// A size that is read when the model runs is allocated then; a branch forwards what it yields.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%n: tensor<1xi64>, %c: tensor<i1>) -> tensor<8xf32> {
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  // CHECK: plan.places = [#plan.place<dynamic>]
  %0 = plan.launch @k(%n) symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">]]} : (tensor<1xi64>) -> tensor<?xf32>
  // CHECK: graph.if
  // CHECK-SAME: plan.places = [#plan.place<forward>]
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

// The output slice of a scan is made in place; a state that swaps with another goes through memory of its own.
// CHECK-LABEL: func.func @main
func.func private @k()
func.func @main(%h: tensor<4xf32>, %c: tensor<4xf32>, %x: tensor<10x4xf32>) -> (tensor<10x4xf32>) {
  // CHECK: graph.scan
  // CHECK-SAME: plan.places = [#plan.place<arena, 0>, #plan.place<arena, 64>, #plan.place<output, 0>]
  // CHECK-SAME: plan.staging = [unit, #plan.place<arena, 128>]
  %0:3 = graph.scan %h, %c, %x attributes {numStates = 2 : i64, backward = array<i1: false, false>} {
  ^bb0(%hh: tensor<4xf32>, %cc: tensor<4xf32>, %xx: tensor<4xf32>):
    // CHECK: plan.places = [#plan.place<slice, 2>]
    %1 = plan.launch @k(%hh, %cc, %xx) symbols [] : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1, %hh, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<10x4xf32>)
  return %0#2 : tensor<10x4xf32>
}

// -----

// In place where the launch allows it and the input ends there: the second result takes the first one's memory; the third
// may not take the second's, which the return needs.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 64 : i64
func.func private @k()
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: plan.places = [#plan.place<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: plan.places = [#plan.place<arena, 0>]
  %1 = plan.launch @k(%0) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: plan.places = [#plan.place<output, 0>]
  %2 = plan.launch @k(%1) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: plan.places = [#plan.place<output, 1>]
  %3 = plan.launch @k(%2) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// What might be written over is read again, by a launch that comes later.
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
