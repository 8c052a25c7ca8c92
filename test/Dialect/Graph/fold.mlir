// RUN: hewn-opt %s --canonicalize | FileCheck %s
// Ops that fold to what is there: one that changes no order, and one that takes another one back.

// CHECK-LABEL: func.func @same
// CHECK-NEXT: return %arg0
func.func @same(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.transpose %x {order = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @back
// CHECK-NEXT: return %arg0
func.func @back(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = graph.transpose %x {order = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = graph.transpose %0 {order = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// Twice the same cycle is another order; and another layout is another place of each element.
// CHECK-LABEL: func.func @onward
// CHECK-COUNT-3: graph.transpose
func.func @onward(%x: tensor<3x3x3xf32>, %y: tensor<3x3xf32>) -> (tensor<3x3x3xf32>, tensor<3x3xf32, #graph.layout<[1, 0]>>) {
  %0 = graph.transpose %x {order = array<i64: 2, 0, 1>} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %1 = graph.transpose %0 {order = array<i64: 2, 0, 1>} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %2 = graph.transpose %y {order = array<i64: 0, 1>} : (tensor<3x3xf32>) -> tensor<3x3xf32, #graph.layout<[1, 0]>>
  return %1, %2 : tensor<3x3x3xf32>, tensor<3x3xf32, #graph.layout<[1, 0]>>
}
