// RUN: hewn-opt %s --split-input-file --hewn-sink-dequantize | FileCheck %s

// A residual is stored as bytes, and each kernel that reads it dequantizes it.
// CHECK-LABEL: func.func @residual
// CHECK: %[[Q:.*]] = graph.quantize {{.*}}graph.fusion_group = 0
// CHECK-NEXT: %[[A:.*]] = graph.dequantize %[[Q]]{{.*}}graph.fusion_group = 1{{.*}}graph.why = "first"
// CHECK-NEXT: %[[X:.*]] = graph.add %arg0, %[[A]]
// CHECK-NEXT: graph.mul %[[X]], %[[A]]
// CHECK-NEXT: %[[B:.*]] = graph.dequantize %[[Q]]{{.*}}graph.fusion_group = 2
// CHECK-NEXT: graph.add %{{.*}}, %[[B]]
func.func @residual(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %r = graph.relu %x {graph.fusion_group = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %q = graph.quantize %r, %s {to = ui8, graph.fusion_group = 0 : i64} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xui8>
  %f = graph.dequantize %q, %s {to = f32, graph.fusion_group = 0 : i64} : (tensor<4x8xui8>, tensor<f32>) -> tensor<4x8xf32>
  %0 = graph.add %x, %f {graph.fusion_group = 1 : i64, graph.why = "first"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.mul %0, %f {graph.fusion_group = 1 : i64, graph.why = "first"} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.add %1, %f {graph.fusion_group = 2 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// If one user of a dequantized tensor needs the float tensor in memory, all users read this float
// tensor.
// CHECK-LABEL: func.func @contraction
// CHECK: graph.dequantize {{.*}}graph.fusion_group = 0
// CHECK-NOT: graph.dequantize
func.func @contraction(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.quantize %x, %s {to = ui8, graph.fusion_group = 0 : i64} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xui8>
  %f = graph.dequantize %q, %s {to = f32, graph.fusion_group = 0 : i64} : (tensor<4x8xui8>, tensor<f32>) -> tensor<4x8xf32>
  %0 = graph.matmul %f, %w {graph.fusion_group = 1 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = graph.add %x, %f {graph.fusion_group = 2 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Padding in a contraction's kernel is folded: the contraction reads the float tensor.
// CHECK-LABEL: func.func @border
// CHECK: graph.dequantize {{.*}}graph.fusion_group = 0
// CHECK-NOT: graph.dequantize
func.func @border(%x: tensor<1x8x4x4xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x4x4xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.quantize %x, %s {to = ui8, graph.fusion_group = 0 : i64} : (tensor<1x8x4x4xf32>, tensor<f32>) -> tensor<1x8x4x4xui8>
  %f = graph.dequantize %q, %s {to = f32, graph.fusion_group = 0 : i64} : (tensor<1x8x4x4xui8>, tensor<f32>) -> tensor<1x8x4x4xf32>
  %p = graph.pad %f {low = [0, 0, 1, 1], high = [0, 0, 1, 1], graph.fusion_group = 1 : i64} : (tensor<1x8x4x4xf32>) -> tensor<1x8x6x6xf32>
  %0 = graph.conv %p, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64, graph.fusion_group = 1 : i64} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x4x4xf32>
  return %0 : tensor<1x8x4x4xf32>
}

// -----

// Not sunk: results of the program, dequantizations with per-column scales, and those whose result
// has no more bytes than the operand.
// CHECK-LABEL: func.func @kept
// CHECK: graph.dequantize {{.*}}graph.fusion_group = 0
// CHECK-NEXT: graph.dequantize {{.*}}graph.fusion_group = 0
// CHECK-NEXT: graph.relu {{.*}}graph.fusion_group = 0
// CHECK-NEXT: graph.add
func.func @kept(%x: tensor<4x8xui8>, %y: tensor<4x8xf32>, %each: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %f = graph.dequantize %x, %s {to = f32, graph.fusion_group = 0 : i64} : (tensor<4x8xui8>, tensor<f32>) -> tensor<4x8xf32>
  %g = graph.dequantize %x, %each {to = f32, graph.fusion_group = 0 : i64} : (tensor<4x8xui8>, tensor<8xf32>) -> tensor<4x8xf32>
  %r = graph.relu %y {graph.fusion_group = 0 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = graph.add %f, %g {graph.fusion_group = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.add %0, %r {graph.fusion_group = 1 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %f, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
