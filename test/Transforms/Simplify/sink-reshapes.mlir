// RUN: hewn-opt %s --split-input-file --hewn-sink-reshapes | FileCheck %s

// The pass applies bias and activation in the shape of the GEMM's result. An operand of the full
// size is reshaped too.
// CHECK-LABEL: func.func @activation
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[B:.*]] = graph.add %[[P]], %{{.*}} -> tensor<4x8xf32>
// CHECK: %[[R:.*]] = graph.relu %[[B]] : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[O:.*]] = graph.reshape %{{.*}} : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = graph.add %[[R]], %[[O]] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[Y:.*]] = graph.reshape %[[S]] {{.*}} -> tensor<1x4x8xf32>
// CHECK: return %[[Y]]
func.func @activation(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %bias: tensor<8xf32>, %o: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 {shape = [1, 4, 8]} : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
  %2 = graph.add %1, %bias : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %3 = graph.relu %2 : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %4 = graph.add %3, %o : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %4 : tensor<1x4x8xf32>
}

// -----

// Not sunk: the reshape splits the last dim, and the other operand varies along it.
// CHECK-LABEL: func.func @apart
// CHECK: %[[R:.*]] = graph.reshape
// CHECK: %[[Y:.*]] = graph.add %[[R]]
// CHECK: return %[[Y]]
func.func @apart(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %bias: tensor<4xf32>) -> tensor<4x2x4xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 {shape = [4, 2, 4]} : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %2 = graph.add %1, %bias : (tensor<4x2x4xf32>, tensor<4xf32>) -> tensor<4x2x4xf32>
  return %2 : tensor<4x2x4xf32>
}

// -----

// The dims that the reshape splits from one share one factor, and another dim has one factor per
// element.
// CHECK-LABEL: func.func @each_feature
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[B:.*]] = graph.reshape %{{.*}} : (tensor<8x1x1xf32>) -> tensor<1x8x1xf32>
// CHECK: %[[S:.*]] = graph.add %[[P]], %[[B]] {{.*}} -> tensor<2x8x15xf32>
// CHECK: %[[Y:.*]] = graph.reshape %[[S]] {{.*}} -> tensor<2x8x3x5xf32>
// CHECK: return %[[Y]]
func.func @each_feature(%x: tensor<8x4xf32>, %w: tensor<2x4x15xf32>, %bias: tensor<8x1x1xf32>) -> tensor<2x8x3x5xf32> {
  %0 = graph.matmul %x, %w : (tensor<8x4xf32>, tensor<2x4x15xf32>) -> tensor<2x8x15xf32>
  %1 = graph.reshape %0 {shape = [2, 8, 3, 5]} : (tensor<2x8x15xf32>) -> tensor<2x8x3x5xf32>
  %2 = graph.add %1, %bias : (tensor<2x8x3x5xf32>, tensor<8x1x1xf32>) -> tensor<2x8x3x5xf32>
  return %2 : tensor<2x8x3x5xf32>
}

// -----

// Not sunk: the reshape's operand is not computed by a contraction.
// CHECK-LABEL: func.func @plain
// CHECK: %[[R:.*]] = graph.reshape
// CHECK: %[[Y:.*]] = graph.relu %[[R]]
// CHECK: return %[[Y]]
func.func @plain(%x: tensor<4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = graph.reshape %x {shape = [1, 4, 8]} : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
  %1 = graph.relu %0 : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %1 : tensor<1x4x8xf32>
}

// -----

// If the results of several contractions are interleaved, the pass applies bias and activation to
// each of them.
// CHECK-LABEL: func.func @turns
// CHECK: %[[A:.*]] = graph.conv
// CHECK: %[[B:.*]] = graph.conv
// CHECK: %[[C:.*]] = graph.add %[[A]], %arg{{.*}} -> tensor<1x8x4xf32>
// CHECK: %[[D:.*]] = graph.add %[[B]], %arg{{.*}} -> tensor<1x8x3xf32>
// CHECK: %[[E:.*]] = graph.relu %[[C]]
// CHECK: %[[F:.*]] = graph.relu %[[D]]
// CHECK: %[[Y:.*]] = graph.interleave %[[E]], %[[F]] {{.*}} -> tensor<1x8x7xf32>
// CHECK: return %[[Y]]
func.func @turns(%x: tensor<1x4x4xf32>, %v: tensor<8x4x1xf32>, %w: tensor<8x4x2xf32>, %bias: tensor<8x1xf32>) -> tensor<1x8x7xf32> {
  %0 = graph.conv %x, %v {dilations = array<i64: 1>, groups = 1 : i64, strides = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<8x4x1xf32>) -> tensor<1x8x4xf32>
  %1 = graph.conv %x, %w {dilations = array<i64: 1>, groups = 1 : i64, strides = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<8x4x2xf32>) -> tensor<1x8x3xf32>
  %2 = graph.interleave %0, %1 {shape = [1, 8, 7], steps = array<i64: 1, 1, 2>} : (tensor<1x8x4xf32>, tensor<1x8x3xf32>) -> tensor<1x8x7xf32>
  %3 = graph.add %2, %bias : (tensor<1x8x7xf32>, tensor<8x1xf32>) -> tensor<1x8x7xf32>
  %4 = graph.relu %3 : (tensor<1x8x7xf32>) -> tensor<1x8x7xf32>
  return %4 : tensor<1x8x7xf32>
}

// -----

// Not sunk: the addend differs between the interleaved operands.
// CHECK-LABEL: func.func @unlike_turns
// CHECK: %[[T:.*]] = graph.interleave
// CHECK: %[[Y:.*]] = graph.add %[[T]]
// CHECK: return %[[Y]]
func.func @unlike_turns(%x: tensor<1x4x4xf32>, %v: tensor<8x4x1xf32>, %o: tensor<7xf32>) -> tensor<1x8x7xf32> {
  %0 = graph.conv %x, %v {dilations = array<i64: 1>, groups = 1 : i64, strides = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<8x4x1xf32>) -> tensor<1x8x4xf32>
  %2 = graph.interleave %0, %0 {shape = [1, 8, 7], steps = array<i64: 1, 1, 2>} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x7xf32>
  %3 = graph.add %2, %o : (tensor<1x8x7xf32>, tensor<7xf32>) -> tensor<1x8x7xf32>
  return %3 : tensor<1x8x7xf32>
}

// -----

// Tiles of a transposed convolution are put side by side: the bias is repeated for each position of
// a tile, and bytes are moved instead of floats. The dequantization stays after the move.
// CHECK-LABEL: func.func @tiles
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[E:.*]] = graph.expand %{{.*}} {shape = [1, 1, 1, 2, 2, 8]} : (tensor<1x1x1x1x1x8xf32>) -> tensor<1x1x1x2x2x8xf32>
// CHECK: %[[B:.*]] = graph.reshape %[[E]] {shape = [1, 32]}
// CHECK: %[[S:.*]] = graph.add %[[P]], %[[B]] : (tensor<12x32xf32>, tensor<1x32xf32>) -> tensor<12x32xf32>
// CHECK: %[[Q:.*]] = graph.quantize %[[S]], %{{.*}} -> tensor<12x32xui8>
// CHECK: %[[A:.*]] = graph.reshape %[[Q]] {shape = [1, 3, 4, 2, 2, 8]}
// CHECK: %[[T:.*]] = graph.transpose %[[A]] {order = array<i64: 0, 1, 3, 2, 4, 5>}
// CHECK: %[[R:.*]] = graph.reshape %[[T]] {shape = [1, 6, 8, 8]}
// CHECK: %[[Y:.*]] = graph.transpose %[[R]] {order = array<i64: 0, 3, 1, 2>} {{.*}} -> tensor<1x8x6x8xui8>
// CHECK: %[[D:.*]] = graph.dequantize %[[Y]]
// CHECK: return %[[D]]
func.func @tiles(%x: tensor<12x5xf32>, %w: tensor<5x32xf32>, %scale: tensor<f32>, %zero: tensor<ui8>) -> tensor<1x8x6x8xf32> {
  %bias = graph.constant {value = dense<0.5> : tensor<8x1x1xf32>} : tensor<8x1x1xf32>
  %0 = graph.matmul %x, %w : (tensor<12x5xf32>, tensor<5x32xf32>) -> tensor<12x32xf32>
  %1 = graph.reshape %0 {shape = [1, 3, 4, 2, 2, 8]} : (tensor<12x32xf32>) -> tensor<1x3x4x2x2x8xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<1x3x4x2x2x8xf32>) -> tensor<1x3x2x4x2x8xf32>
  %3 = graph.reshape %2 {shape = [1, 6, 8, 8]} : (tensor<1x3x2x4x2x8xf32>) -> tensor<1x6x8x8xf32>
  %4 = graph.transpose %3 {order = array<i64: 0, 3, 1, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x8x6x8xf32>
  %5 = graph.add %4, %bias : (tensor<1x8x6x8xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x8xf32>
  %6 = graph.quantize %5, %scale, %zero {to = ui8} : (tensor<1x8x6x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x8x6x8xui8>
  %7 = graph.dequantize %6, %scale, %zero {to = f32} : (tensor<1x8x6x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x8x6x8xf32>
  return %7 : tensor<1x8x6x8xf32>
}

// -----

// Left alone: an addend that is no constant and would have to be repeated in each run; one that
// varies with positions within and between tiles, and so along two dims; one with an element for
// each result, which would have to be split into tiles.
// CHECK-LABEL: func.func @unlike_tiles
// CHECK: %[[T:.*]] = graph.transpose %{{.*}} {order = array<i64: 0, 3, 1, 2>}
// CHECK: %[[A:.*]] = graph.add %[[T]], %arg2
// CHECK: %[[B:.*]] = graph.add %[[A]], %arg3
// CHECK: %[[C:.*]] = graph.add %[[B]], %{{.*}} : (tensor<1x8x6x8xf32>, tensor<6x1xf32>)
// CHECK: return %[[C]]
func.func @unlike_tiles(%x: tensor<12x5xf32>, %w: tensor<5x32xf32>, %bias: tensor<8x1x1xf32>, %o: tensor<1x8x6x8xf32>) -> tensor<1x8x6x8xf32> {
  %rows = graph.constant {value = dense<0.5> : tensor<6x1xf32>} : tensor<6x1xf32>
  %0 = graph.matmul %x, %w : (tensor<12x5xf32>, tensor<5x32xf32>) -> tensor<12x32xf32>
  %1 = graph.reshape %0 {shape = [1, 3, 4, 2, 2, 8]} : (tensor<12x32xf32>) -> tensor<1x3x4x2x2x8xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<1x3x4x2x2x8xf32>) -> tensor<1x3x2x4x2x8xf32>
  %3 = graph.reshape %2 {shape = [1, 6, 8, 8]} : (tensor<1x3x2x4x2x8xf32>) -> tensor<1x6x8x8xf32>
  %4 = graph.transpose %3 {order = array<i64: 0, 3, 1, 2>} : (tensor<1x6x8x8xf32>) -> tensor<1x8x6x8xf32>
  %5 = graph.add %4, %bias : (tensor<1x8x6x8xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x8xf32>
  %6 = graph.add %5, %o : (tensor<1x8x6x8xf32>, tensor<1x8x6x8xf32>) -> tensor<1x8x6x8xf32>
  %7 = graph.add %6, %rows : (tensor<1x8x6x8xf32>, tensor<6x1xf32>) -> tensor<1x8x6x8xf32>
  return %7 : tensor<1x8x6x8xf32>
}

// -----

// Features are last in the GEMM and first in the model: per-feature factors and a residual are
// applied to the GEMM's result; a residual that was also transposed is used before its transpose.
// CHECK-LABEL: func.func @features_last
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[F:.*]] = graph.reshape %{{.*}} {shape = [1, 8]}
// CHECK: %[[M:.*]] = graph.mul %[[P]], %[[F]] : (tensor<12x8xf32>, tensor<1x8xf32>) -> tensor<12x8xf32>
// CHECK: %[[I:.*]] = graph.transpose %arg2 {order = array<i64: 0, 2, 3, 1>}
// CHECK: %[[J:.*]] = graph.reshape %[[I]] {shape = [12, 8]}
// CHECK: %[[S:.*]] = graph.add %[[M]], %[[J]] : (tensor<12x8xf32>, tensor<12x8xf32>) -> tensor<12x8xf32>
// CHECK: %[[K:.*]] = graph.reshape %arg3 {shape = [12, 8]}
// CHECK: %[[L:.*]] = graph.add %[[S]], %[[K]]
// CHECK: %[[Y:.*]] = graph.transpose %{{.*}} {order = array<i64: 0, 3, 1, 2>}
// CHECK: return %[[Y]]
func.func @features_last(%x: tensor<12x5xf32>, %w: tensor<5x8xf32>, %o: tensor<1x8x3x4xf32>, %last: tensor<1x3x4x8xf32>) -> tensor<1x8x3x4xf32> {
  %factor = graph.constant {value = dense<0.5> : tensor<1x8x1x1xf32>} : tensor<1x8x1x1xf32>
  %0 = graph.matmul %x, %w : (tensor<12x5xf32>, tensor<5x8xf32>) -> tensor<12x8xf32>
  %1 = graph.reshape %0 {shape = [1, 3, 4, 8]} : (tensor<12x8xf32>) -> tensor<1x3x4x8xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 3, 1, 2>} : (tensor<1x3x4x8xf32>) -> tensor<1x8x3x4xf32>
  %3 = graph.mul %2, %factor : (tensor<1x8x3x4xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x3x4xf32>
  %4 = graph.add %3, %o : (tensor<1x8x3x4xf32>, tensor<1x8x3x4xf32>) -> tensor<1x8x3x4xf32>
  %5 = graph.transpose %last {order = array<i64: 0, 3, 1, 2>} : (tensor<1x3x4x8xf32>) -> tensor<1x8x3x4xf32>
  %6 = graph.add %4, %5 : (tensor<1x8x3x4xf32>, tensor<1x8x3x4xf32>) -> tensor<1x8x3x4xf32>
  return %6 : tensor<1x8x3x4xf32>
}

// -----

// Features last with dynamic dims, and with a dim of 0.
// CHECK-LABEL: func.func @open_features_last
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[M:.*]] = graph.mul %[[P]], %{{.*}} -> tensor<?x8xf32>
// CHECK: %[[Y:.*]] = graph.transpose %{{.*}} order = array<i64: 0, 2, 1>} : {{.*}} -> tensor<1x8x?xf32>
// CHECK: return %[[Y]]
func.func @open_features_last(%x: tensor<?x5xf32> {graph.dims = [#graph.dim<"n">, 5]}, %w: tensor<5x8xf32>) -> tensor<1x8x?xf32> {
  %factor = graph.constant {value = dense<0.5> : tensor<8x1xf32>} : tensor<8x1xf32>
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"n">, 8]]} : (tensor<?x5xf32>, tensor<5x8xf32>) -> tensor<?x8xf32>
  %1 = graph.reshape %0 {shape = [1, #graph.dim<"n">, 8], graph.dims = [[1, #graph.dim<"n">, 8]]} : (tensor<?x8xf32>) -> tensor<1x?x8xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 2, 1>, graph.dims = [[1, 8, #graph.dim<"n">]]} : (tensor<1x?x8xf32>) -> tensor<1x8x?xf32>
  %3 = graph.mul %2, %factor {graph.dims = [[1, 8, #graph.dim<"n">]]} : (tensor<1x8x?xf32>, tensor<8x1xf32>) -> tensor<1x8x?xf32>
  return %3 : tensor<1x8x?xf32>
}

// -----

// CHECK-LABEL: func.func @no_features
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[M:.*]] = graph.mul %[[P]], %{{.*}} -> tensor<0x8xf32>
// CHECK: graph.transpose {{.*}} -> tensor<1x8x0xf32>
func.func @no_features(%x: tensor<0x5xf32>, %w: tensor<5x8xf32>) -> tensor<1x8x0xf32> {
  %factor = graph.constant {value = dense<0.5> : tensor<8x1xf32>} : tensor<8x1xf32>
  %0 = graph.matmul %x, %w : (tensor<0x5xf32>, tensor<5x8xf32>) -> tensor<0x8xf32>
  %1 = graph.reshape %0 {shape = [1, 0, 8]} : (tensor<0x8xf32>) -> tensor<1x0x8xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 2, 1>} : (tensor<1x0x8xf32>) -> tensor<1x8x0xf32>
  %3 = graph.mul %2, %factor : (tensor<1x8x0xf32>, tensor<8x1xf32>) -> tensor<1x8x0xf32>
  return %3 : tensor<1x8x0xf32>
}
