// RUN: hewn-opt %s --canonicalize | FileCheck %s
// Foldable ops: an identity transpose, and a transpose that inverts another one.

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

// A cyclic permutation applied twice is another permutation, so that the transposes stay. A
// transpose that changes the layout stays too.
// CHECK-LABEL: func.func @onward
// CHECK-COUNT-3: graph.transpose
func.func @onward(%x: tensor<3x3x3xf32>, %y: tensor<3x3xf32>) -> (tensor<3x3x3xf32>, tensor<3x3xf32, #graph.layout<[1, 0]>>) {
  %0 = graph.transpose %x {order = array<i64: 2, 0, 1>} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %1 = graph.transpose %0 {order = array<i64: 2, 0, 1>} : (tensor<3x3x3xf32>) -> tensor<3x3x3xf32>
  %2 = graph.transpose %y {order = array<i64: 0, 1>} : (tensor<3x3xf32>) -> tensor<3x3xf32, #graph.layout<[1, 0]>>
  return %1, %2 : tensor<3x3x3xf32>, tensor<3x3xf32, #graph.layout<[1, 0]>>
}
