// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s

// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<2x?x4xf32> {graph.dims = [2, #graph.dim<"n">, 4]}, %b: tensor<3x4xi1>) {
  // CHECK: graph.reduce_sum %{{.*}} {dims = array<i64: 0, 2>, graph.dims = {{\[\[}}1, #graph.dim<"n">, 1{{\]\]}}} : (tensor<2x?x4xf32>) -> tensor<1x?x1xf32>
  %0 = graph.reduce_sum %x {dims = array<i64: 0, 2>, graph.dims = [[1, #graph.dim<"n">, 1]]} : (tensor<2x?x4xf32>) -> tensor<1x?x1xf32>
  // CHECK: graph.reduce_max %{{.*}} {dims = array<i64: 1>, keepdims = false} : (tensor<3x4xi1>) -> tensor<3xi1>
  %1 = graph.reduce_max %b {dims = array<i64: 1>, keepdims = false} : (tensor<3x4xi1>) -> tensor<3xi1>
  // CHECK: graph.arg_max %{{.*}} {dims = array<i64: 1>, keepdims = false, lastIndex = true} : (tensor<3x4xi1>) -> tensor<3xi64>
  %2 = graph.arg_max %b {dims = array<i64: 1>, keepdims = false, lastIndex = true} : (tensor<3x4xi1>) -> tensor<3xi64>
  return
}

// -----

func.func @nothing(%x: tensor<2x3xf32>) {
  // expected-error @below {{must reduce at least one dim}}
  %0 = graph.reduce_sum %x {dims = array<i64>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @order(%x: tensor<2x3xf32>) {
  // expected-error @below {{reduced dims must be ascending and within the rank 2}}
  %0 = graph.reduce_sum %x {dims = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dims(%x: tensor<2x3xf32>) {
  // expected-error @below {{must reduce exactly one dim}}
  %0 = graph.arg_min %x {dims = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<1x1xi64>
  return
}

// -----

// CHECK-LABEL: func.func @more_reductions
func.func @more_reductions(%x: tensor<3x4xf32>) {
  // CHECK: graph.reduce_prod %{{.*}} {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %0 = graph.reduce_prod %x {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<1x4xf32>
  // CHECK: graph.reduce_min %{{.*}} {dims = array<i64: 0, 1>, keepdims = false} : (tensor<3x4xf32>) -> tensor<f32>
  %1 = graph.reduce_min %x {dims = array<i64: 0, 1>, keepdims = false} : (tensor<3x4xf32>) -> tensor<f32>
  // CHECK: graph.reduce_mean %{{.*}} {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %2 = graph.reduce_mean %x {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  // CHECK: graph.arg_min %{{.*}} {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xi64>
  %3 = graph.arg_min %x {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xi64>
  return
}

// -----

// Converts a position within a window to an index of the tensor.
// CHECK-LABEL: func.func @window_position
func.func @window_position(%x: tensor<1x3x4x4xi64>) {
  // CHECK: graph.window_position %{{.*}} {columnMajor = false, dilations = array<i64: 1, 1>, extents = [8, 8], kernel = array<i64: 2, 2>, low = [0, 0], strides = array<i64: 2, 2>} : (tensor<1x3x4x4xi64>) -> tensor<1x3x4x4xi64>
  %0 = graph.window_position %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = [0, 0], extents = [8, 8], columnMajor = false} : (tensor<1x3x4x4xi64>) -> tensor<1x3x4x4xi64>
  return
}

// -----

func.func @window_entries(%x: tensor<1x3x4x4xi64>) {
  // expected-error @below {{kernel, strides, dilations, low and extents must have one entry per spatial dim}}
  %0 = graph.window_position %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = [0], extents = [8, 8], columnMajor = false} : (tensor<1x3x4x4xi64>) -> tensor<1x3x4x4xi64>
  return
}
