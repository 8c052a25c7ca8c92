// Ops are decomposed into ops of the five interfaces. test/Dialect tests the decomposition of each
// op.
// RUN: hewn-opt %s --split-input-file --hewn-decompose-ops | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-NOT: graph.softmax
// CHECK: graph.reduce_max
// CHECK: graph.exp
// CHECK: graph.reduce_sum
// CHECK: %[[I:.*]] = graph.reciprocal
// CHECK: %[[Y:.*]] = graph.mul
// CHECK: return %[[Y]]
func.func @softmax(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// The pass also decomposes ops in the regions of control flow.
// CHECK-LABEL: func.func @region
// CHECK: graph.if
// CHECK-NOT: graph.softmax
// CHECK: graph.exp
func.func @region(%c: tensor<i1>, %x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.if %c {
    %1 = graph.softmax %x {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.yield %1 : tensor<2x4xf32>
  } else {
    graph.yield %x : tensor<2x4xf32>
  } : (tensor<i1>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// The pass erases ops of a decomposition whose results have no uses, together with their producers.
// CHECK-LABEL: func.func @dead
// CHECK-NEXT: return
func.func @dead(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.softmax %0 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %x : tensor<2x4xf32>
}

// -----

// An op that implements one of the interfaces is not decomposed.
// CHECK-LABEL: func.func @left_alone
// CHECK-NEXT: graph.relu
// CHECK-NEXT: graph.matmul
// CHECK-NEXT: return
func.func @left_alone(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.matmul %0, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
