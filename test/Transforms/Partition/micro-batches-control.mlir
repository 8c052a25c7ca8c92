// RUN: hewn-opt %s --split-input-file --hewn-partition='stages=2 micro-batches=2 rank=0' --cse | FileCheck %s

// A recurrence: a micro-batch, a slice of the sequence's second dim and of the state's first dim,
// passes through all steps. Outer values without the batch dim are used unchanged.
// CHECK-LABEL: func.func @recurrence
// CHECK: %[[W:.*]] = graph.constant {value = #graph.weight<"w"
// CHECK: %[[X0:.*]] = graph.slice %arg0 {offsets = [0, 0, 0], sizes = [5, 4, 64]
// CHECK: %[[R0:.*]] = graph.relu %[[X0]]
// CHECK: graph.scan %{{.*}}, %[[R0]] {{.*}}{
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<4x64xf32>, %[[S:.*]]: tensor<4x64xf32>):
// CHECK: graph.matmul %[[H]], %[[W]]
// CHECK: graph.yield %{{.*}}, %{{.*}} : tensor<4x64xf32>, tensor<4x64xf32>
// CHECK: (tensor<4x64xf32>, tensor<5x4x64xf32>) -> (tensor<4x64xf32>, tensor<5x4x64xf32>)
// CHECK: graph.scan
func.func @recurrence(%x: tensor<5x8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %zero = graph.constant {value = dense<0.0> : tensor<f32>} : tensor<f32>
  %none = graph.expand %zero {shape = [8, 64]} : (tensor<f32>) -> tensor<8x64xf32>
  %r = graph.relu %x : (tensor<5x8x64xf32>) -> tensor<5x8x64xf32>
  %0:2 = graph.scan %none, %r attributes {numStates = 1 : i64, backward = array<i1: false, false>} {
  ^bb0(%h: tensor<8x64xf32>, %s: tensor<8x64xf32>):
    %1 = graph.matmul %h, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %2 = graph.add %1, %s : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
    %3 = graph.tanh %2 : (tensor<8x64xf32>) -> tensor<8x64xf32>
    graph.yield %3, %3 : tensor<8x64xf32>, tensor<8x64xf32>
  } : (tensor<8x64xf32>, tensor<5x8x64xf32>) -> (tensor<8x64xf32>, tensor<5x8x64xf32>)
  %4 = graph.matmul %0#0, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %4 : tensor<8x64xf32>
}

// -----

// A micro-batch passes through branches with a scalar condition, in a loop with a scalar trip
// count.
// CHECK-LABEL: func.func @branches
// CHECK: graph.loop %arg2, %{{.*}}, %{{.*}} attributes {graph.dims = {{.*}}floordiv(n + 1, 2)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<i1>, %[[H:.*]]: tensor<?x64xf32>):
// CHECK: graph.if %arg1
// CHECK: graph.neg %[[H]] {graph.dims = {{\[\[}}#graph.dim<"floordiv(n + 1, 2)">, 64]]}
// CHECK: else
// CHECK: graph.yield %[[H]]
// CHECK: graph.loop %arg2
func.func @branches(%x: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}, %c: tensor<i1>, %trips: tensor<i64>) -> tensor<?x64xf32> {
  %true = graph.constant {value = dense<true> : tensor<i1>} : tensor<i1>
  %1 = graph.loop %trips, %true, %x attributes {graph.dims = [[#graph.dim<"n">, 64]], graph.region_dims = [[[], [], [#graph.dim<"n">, 64]]]} {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %h: tensor<?x64xf32>):
    %2 = graph.if %c attributes {graph.dims = [[#graph.dim<"n">, 64]]} {
      %3 = graph.neg %h {graph.dims = [[#graph.dim<"n">, 64]]} : (tensor<?x64xf32>) -> tensor<?x64xf32>
      graph.yield %3 : tensor<?x64xf32>
    } else {
      graph.yield %h : tensor<?x64xf32>
    } : (tensor<i1>) -> tensor<?x64xf32>
    graph.yield %go, %2 : tensor<i1>, tensor<?x64xf32>
  } : (tensor<i64>, tensor<i1>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %4 = graph.tanh %1 {graph.dims = [[#graph.dim<"n">, 64]]} : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %4 : tensor<?x64xf32>
}

// -----

// The pass slices a constant that a branch yields along the batch, like a constant outside of
// control flow.
// CHECK-LABEL: func.func @constants
// CHECK: graph.if
// CHECK: %[[ALL:.*]] = graph.constant {value = dense<1.0{{.*}}> : tensor<8x64xf32>}
// CHECK: %[[PART:.*]] = graph.slice %[[ALL]] {offsets = [4, 0], sizes = [4, 64]
// CHECK: graph.yield %[[PART]]
func.func @constants(%x: tensor<8x64xf32>, %c: tensor<i1>) -> tensor<8x64xf32> {
  %0 = graph.if %c {
    %1 = graph.neg %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
    graph.yield %1 : tensor<8x64xf32>
  } else {
    %2 = graph.constant {value = dense<1.0> : tensor<8x64xf32>} : tensor<8x64xf32>
    graph.yield %2 : tensor<8x64xf32>
  } : (tensor<i1>) -> tensor<8x64xf32>
  %3 = graph.tanh %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
