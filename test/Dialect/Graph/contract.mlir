// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s

// Each side may be a sum of terms: further operands, left and right in turn.
// CHECK-LABEL: @terms
func.func @terms(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> {
  // CHECK: graph.matmul %arg0, %arg1, %arg0, %arg1 {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %0 = graph.matmul %x, %w, %x, %w {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @one_side(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> {
  // expected-error @below {{has a term of one side without one of the other}}
  %0 = graph.matmul %x, %w, %x {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @unlike(%x: tensor<1x8x4x4xbf16>, %w: tensor<16x8x1x1xbf16>, %v: tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32> {
  // expected-error @below {{operand 3 is a term of operand 1, but not of its shape and type}}
  %0 = graph.conv %x, %w, %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, to = f32} : (tensor<1x8x4x4xbf16>, tensor<16x8x1x1xbf16>, tensor<1x8x4x4xbf16>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  return %0 : tensor<1x16x4x4xf32>
}
