// RUN: hewn-opt %s --split-input-file --hewn-order-launches --mlir-print-local-scope | FileCheck %s

// One wide value at a time. What the first needs comes first, also a view.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @widen(%arg0)
// CHECK: graph.reshape
// CHECK: plan.launch @sum
// CHECK: plan.launch @widen(%arg1)
// CHECK: plan.launch @total
func.func private @k()
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.launch @widen(%x) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  %1 = plan.launch @widen(%y) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  %2 = graph.reshape %0 {shape = [32, 32], graph.dims = [[32, 32]]} : (tensor<1024xf32>) -> tensor<32x32xf32>
  %3 = plan.launch @sum(%2) symbols [] : (tensor<32x32xf32>) -> tensor<4xf32>
  %4 = plan.launch @total(%1, %3) symbols [] : (tensor<1024xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// The order stays where another is no better,
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @a
// CHECK: plan.launch @b
// CHECK: plan.launch @c
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.launch @a(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @b(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = plan.launch @c(%0, %1) symbols [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// and nothing moves across what reads a symbol.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @widen(%arg0)
// CHECK: plan.launch @widen(%arg1)
// CHECK: graph.read_symbol
// CHECK: plan.launch @sum
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<1xi64>) -> tensor<4xf32> {
  %0 = plan.launch @widen(%x) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  %1 = plan.launch @widen(%y) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  %3 = plan.launch @sum(%0) symbols [#graph.dim<"u0">] : (tensor<1024xf32>) -> tensor<4xf32>
  %4 = plan.launch @total(%1, %3) symbols [] : (tensor<1024xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
