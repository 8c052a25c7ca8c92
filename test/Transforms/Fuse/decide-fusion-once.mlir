// An expensive value that is needed before and after a reduction is computed once: stored in a
// result's row, or in a tensor of its own.
// RUN: hewn-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(hewn-decide-fusion))' | FileCheck %s

// The kernel's result has another type than the expensive value and can't store it, so that the sum
// and the tanh form a separate kernel.
// CHECK-LABEL: func.func @apart
// CHECK: graph.add %{{.*}} {graph.fusion_group = [[A:[0-9]+]] : i64, graph.why = "expensive, and several passes over a row read it"}
// CHECK: graph.tanh %{{.*}} {graph.fusion_group = [[A]] : i64
// CHECK: graph.reduce_max %{{.*}} {{{.*}}graph.fusion_group = [[B:[0-9]+]] : i64
// CHECK: graph.quantize %{{.*}} {graph.fusion_group = [[B]] : i64
func.func @apart(%x: tensor<8x512xf32>, %y: tensor<8x512xf32>, %z: tensor<8x1xui8>) -> tensor<8x512xui8> {
  %0 = graph.add %x, %y : (tensor<8x512xf32>, tensor<8x512xf32>) -> tensor<8x512xf32>
  %1 = graph.tanh %0 : (tensor<8x512xf32>) -> tensor<8x512xf32>
  %2 = graph.reduce_max %1 {dims = array<i64: 1>, keepdims = true} : (tensor<8x512xf32>) -> tensor<8x1xf32>
  %3 = graph.quantize %1, %2, %z {to = ui8} : (tensor<8x512xf32>, tensor<8x1xf32>, tensor<8x1xui8>) -> tensor<8x512xui8>
  return %3 : tensor<8x512xui8>
}

// -----
// The row of the kernel's result stores the expensive value between the passes.
// CHECK-LABEL: func.func @together
// CHECK: graph.tanh %{{.*}} {graph.fusion_group = [[A:[0-9]+]] : i64
// CHECK: graph.div %{{.*}} {graph.fusion_group = [[A]] : i64
func.func @together(%x: tensor<8x512xf32>) -> tensor<8x512xf32> {
  %1 = graph.tanh %x : (tensor<8x512xf32>) -> tensor<8x512xf32>
  %2 = graph.reduce_max %1 {dims = array<i64: 1>, keepdims = true} : (tensor<8x512xf32>) -> tensor<8x1xf32>
  %3 = graph.div %1, %2 : (tensor<8x512xf32>, tensor<8x1xf32>) -> tensor<8x512xf32>
  return %3 : tensor<8x512xf32>
}

// -----
// The kernel recomputes cheap ops in each pass instead of storing their value.
// CHECK-LABEL: func.func @cheap
// CHECK: graph.neg %{{.*}} {graph.fusion_group = [[A:[0-9]+]] : i64
// CHECK: graph.quantize %{{.*}} {graph.fusion_group = [[A]] : i64
func.func @cheap(%x: tensor<8x512xf32>, %z: tensor<8x1xui8>) -> tensor<8x512xui8> {
  %1 = graph.neg %x : (tensor<8x512xf32>) -> tensor<8x512xf32>
  %2 = graph.reduce_max %1 {dims = array<i64: 1>, keepdims = true} : (tensor<8x512xf32>) -> tensor<8x1xf32>
  %3 = graph.quantize %1, %2, %z {to = ui8} : (tensor<8x512xf32>, tensor<8x1xf32>, tensor<8x1xui8>) -> tensor<8x512xui8>
  return %3 : tensor<8x512xui8>
}
