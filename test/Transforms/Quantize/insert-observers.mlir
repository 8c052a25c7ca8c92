// RUN: hewn-opt %s --hewn-insert-observers | FileCheck %s

// The pass inserts one observer for each operand that would be quantized, for all its users: before
// views, and before padding.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4x8xf32> {graph.name = "y"}, tensor<4x8xf32>, tensor<4x4xf32> {graph.name = "hewn.operand.2"})
// CHECK: %[[X:.*]] = graph.relu
// CHECK: return %{{.*}}, %{{.*}}, %[[X]]
func.func @main(%a: tensor<4x4xf32>) -> (tensor<4x8xf32> {graph.name = "y"}, tensor<4x8xf32>) {
  %w = graph.constant {value = dense<1.0> : tensor<4x8xf32>} : tensor<4x8xf32>
  %x = graph.relu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
  %t = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.matmul %t, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("b")
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// The pass inserts no observers for contractions that stay float in any case.
// CHECK-LABEL: func.func @computed
// CHECK-SAME: -> tensor<4x8xf32> {
func.func @computed(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %y : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
