// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Prefix sums and products along a dim.

// CHECK-LABEL: func.func @running
func.func @running(%x: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"n">]}) {
  // CHECK: graph.cumsum %{{.*}} {dim = 1 : i64, exclusive = true, graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %0 = graph.cumsum %x {dim = 1, exclusive = true, graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  // CHECK: graph.cumprod %{{.*}} {backward = true, dim = 0 : i64, graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  %1 = graph.cumprod %x {dim = 0, backward = true, graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @dim(%x: tensor<2x3xf32>) {
  // expected-error @below {{dim is outside of the operand's rank}}
  %0 = graph.cumsum %x {dim = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}
