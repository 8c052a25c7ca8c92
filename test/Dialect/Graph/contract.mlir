// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s

// Each operand of a contraction may be split into components, which are further operands of the op.
// Left and right components alternate.
// CHECK-LABEL: @terms
func.func @terms(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> {
  // CHECK: graph.matmul %arg0, %arg1, %arg0, %arg1 {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %0 = graph.matmul %x, %w, %x, %w {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @one_side(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> {
  // expected-error @below {{requires an equal number of components of both operands}}
  %0 = graph.matmul %x, %w, %x {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>) -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @unlike(%x: tensor<1x8x4x4xbf16>, %w: tensor<16x8x1x1xbf16>, %v: tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32> {
  // expected-error @below {{operand 3 is a component of operand 1, but has another shape or type}}
  %0 = graph.conv %x, %w, %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, to = f32} : (tensor<1x8x4x4xbf16>, tensor<16x8x1x1xbf16>, tensor<1x8x4x4xbf16>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  return %0 : tensor<1x16x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<2x4x8xf32>, %w: tensor<8x16xf32>, %i: tensor<1x8x9x9xf16>, %k: tensor<16x4x3x3xf16>) {
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %0 = graph.matmul %x, %w : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  // CHECK: graph.conv %{{.*}}, %{{.*}} {dilations = array<i64: 1, 2>, groups = 2 : i64, strides = array<i64: 2, 1>, to = f32} : (tensor<1x8x9x9xf16>, tensor<16x4x3x3xf16>) -> tensor<1x16x4x5xf32>
  %1 = graph.conv %i, %k {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, groups = 2, to = f32} : (tensor<1x8x9x9xf16>, tensor<16x4x3x3xf16>) -> tensor<1x16x4x5xf32>
  return
}

// -----

func.func @vector(%x: tensor<8xf32>, %w: tensor<8x16xf32>) {
  // expected-error @below {{operands must have rank 2 or more}}
  %0 = graph.matmul %x, %w : (tensor<8xf32>, tensor<8x16xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @summed(%x: tensor<4x8xf32>, %w: tensor<9x16xf32>) {
  // expected-error @below {{K dimension is 8 on the left and 9 on the right}}
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<9x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @batches(%x: tensor<2x4x8xf32>, %w: tensor<3x8x16xf32>) {
  // expected-error @below {{leading dims do not broadcast}}
  %0 = graph.matmul %x, %w : (tensor<2x4x8xf32>, tensor<3x8x16xf32>) -> tensor<2x4x16xf32>
  return
}

// -----

func.func @ranks(%x: tensor<1x8x4x4xf32>, %w: tensor<16x8x1xf32>) {
  // expected-error @below {{operand and weights must have the same rank, 3 or more}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1} : (tensor<1x8x4x4xf32>, tensor<16x8x1xf32>) -> tensor<1x16x4x4xf32>
  return
}

// -----

func.func @entries(%x: tensor<1x8x4x4xf32>, %w: tensor<16x8x1x1xf32>) {
  // expected-error @below {{strides and dilations must have 2 entries}}
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1, 1>, groups = 1} : (tensor<1x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  return
}

// -----

func.func @positive(%x: tensor<1x8x4x4xf32>, %w: tensor<16x8x1x1xf32>) {
  // expected-error @below {{strides and dilations must be positive}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 0>, dilations = array<i64: 1, 1>, groups = 1} : (tensor<1x8x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  return
}

// -----

func.func @groups(%x: tensor<1x9x4x4xf32>, %w: tensor<16x3x1x1xf32>) {
  // expected-error @below {{16 output channels are not divisible by 3 groups}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 3} : (tensor<1x9x4x4xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x4x4xf32>
  return
}

// -----

func.func @open_groups(%x: tensor<1x8x4xf32>, %w: tensor<?x4x1xf32> {graph.dims = [#graph.dim<"m">, 4, 1]}) {
  // expected-error @below {{has 2 groups of 4 input channels for m output channels, which must be static}}
  %0 = graph.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, groups = 2, graph.dims = [[1, #graph.dim<"m">, 4]]} : (tensor<1x8x4xf32>, tensor<?x4x1xf32>) -> tensor<1x?x4xf32>
  return
}

// -----

func.func @channels(%x: tensor<1x9x4x4xf32>, %w: tensor<16x8x1x1xf32>) {
  // expected-error @below {{has 9 input channels, its weights require 8}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1} : (tensor<1x9x4x4xf32>, tensor<16x8x1x1xf32>) -> tensor<1x16x4x4xf32>
  return
}

// -----

func.func @kernel(%x: tensor<1x8x4x4xf32>, %w: tensor<16x8x3x3xf32>) {
  // expected-error @below {{kernel extent 5 is larger than the operand's extent 4}}
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 2, 2>, groups = 1} : (tensor<1x8x4x4xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x4x4xf32>
  return
}
