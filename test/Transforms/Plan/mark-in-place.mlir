// RUN: hewn-opt %s --hewn-mark-in-place | FileCheck %s

plan.kernel @add(%a: tensor<8xf32>, %b: tensor<1xf32>, %c: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = graph.add %a, %b : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %1 = graph.mul %0, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.yield %1 : tensor<8xf32>
}
plan.kernel @turn(%a: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %a {order = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8xf32>, %w: tensor<1xf32>, %m: tensor<4x4xf32>) -> (tensor<8xf32>, tensor<4x4xf32>) {
  // CHECK: plan.launch @add{{.*}}plan.may_overwrite = array<i64: 0, 2>
  %0 = plan.launch @add(%x, %w, %x) symbols [] : (tensor<8xf32>, tensor<1xf32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK: plan.launch @turn
  // CHECK-NOT: may_overwrite
  %1 = plan.launch @turn(%m) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<8xf32>, tensor<4x4xf32>
}
