// RUN: hewn-opt %s --hewn-kernels-stage | FileCheck %s

// The sum is computed in the GEMMs' shape; the first reshape and its transpose then have no uses,
// and no layout conversion is inserted for them.
// CHECK: func.func @main
// CHECK: plan.assemble
// CHECK-NEXT: plan.launch @conv_add
// CHECK-NOT: graph.relayout
// CHECK: return
func.func @main(%x: tensor<2x48x2x2xf32>, %y: tensor<2x48x2x2xf32>, %z: tensor<2x1x2x2xf32>) -> tensor<2x4x96xf32> {
  %w = graph.constant {value = dense<0.5> : tensor<48x48x3x3xf32>} : tensor<48x48x3x3xf32>
  %v = graph.constant {value = dense<0.5> : tensor<96x1x1x1xf32>} : tensor<96x1x1x1xf32>
  %around = graph.pad %x {high = [0, 0, 1, 1], low = [0, 0, 1, 1]} : (tensor<2x48x2x2xf32>) -> tensor<2x48x4x4xf32>
  %a = graph.conv %around, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x48x4x4xf32>, tensor<48x48x3x3xf32>) -> tensor<2x48x2x2xf32>
  %both = graph.concat %a, %y {axis = 1 : i64} : (tensor<2x48x2x2xf32>, tensor<2x48x2x2xf32>) -> tensor<2x96x2x2xf32>
  %flat = graph.reshape %both {shape = [2, 96, 4]} : (tensor<2x96x2x2xf32>) -> tensor<2x96x4xf32>
  %turned = graph.transpose %flat {order = array<i64: 0, 2, 1>} : (tensor<2x96x4xf32>) -> tensor<2x4x96xf32>
  %b = graph.conv %z, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x1x2x2xf32>, tensor<96x1x1x1xf32>) -> tensor<2x96x2x2xf32>
  %flat_b = graph.reshape %b {shape = [2, 96, 4]} : (tensor<2x96x2x2xf32>) -> tensor<2x96x4xf32>
  %turned_b = graph.transpose %flat_b {order = array<i64: 0, 2, 1>} : (tensor<2x96x4xf32>) -> tensor<2x4x96xf32>
  %sum = graph.add %turned, %turned_b : (tensor<2x4x96xf32>, tensor<2x4x96xf32>) -> tensor<2x4x96xf32>
  return %sum : tensor<2x4x96xf32>
}
