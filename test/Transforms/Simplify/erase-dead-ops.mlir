// RUN: hewn-opt %s --split-input-file --hewn-erase-dead-ops | FileCheck %s

// No op reads the positions, but the program returns their number, so that the op is not erased.
// CHECK-LABEL: func.func @counted
// CHECK: graph.non_zero
// CHECK: graph.dim_value
func.func @counted(%x: tensor<16xf32>) -> tensor<2xi64> {
  %0 = graph.non_zero %x {count = "n", graph.dims = [[1, #graph.dim<"n">]]} : (tensor<16xf32>) -> tensor<1x?xi64>
  %1 = graph.dim_value {values = [1, #graph.dim<"n">]} : () -> tensor<2xi64>
  return %1 : tensor<2xi64>
}

// -----

// Not erased: a dim expression of another op uses the symbol that this op defines.
// CHECK-LABEL: func.func @within
// CHECK: graph.non_zero
func.func @within(%x: tensor<16xf32>, %y: tensor<1xf32>) -> tensor<?xf32> {
  %0 = graph.non_zero %x {count = "n", graph.dims = [[1, #graph.dim<"n">]]} : (tensor<16xf32>) -> tensor<1x?xi64>
  %1 = graph.expand %y {shape = [#graph.dim<"n + 1">], graph.dims = [[#graph.dim<"n + 1">]]} : (tensor<1xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// The op is erased with all its producers: the ops that read it are dead, and nothing uses its
// symbol.
// CHECK-LABEL: func.func @unread
// CHECK-NEXT: graph.relu
// CHECK-NEXT: return
func.func @unread(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = graph.neg %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.non_zero %0 {count = "n", graph.dims = [[1, #graph.dim<"n">]]} : (tensor<16xf32>) -> tensor<1x?xi64>
  %2 = graph.transpose %1 {order = array<i64: 1, 0>, graph.dims = [[#graph.dim<"n">, 1]]} : (tensor<1x?xi64>) -> tensor<?x1xi64>
  %3 = graph.dim_value {values = [1, #graph.dim<"n">]} : () -> tensor<2xi64>
  graph.read_symbol "m" = %3[0] : tensor<2xi64>
  %4 = graph.relu %x : (tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}
