// RUN: hewn-opt %s --split-input-file --hewn-form-integer-contractions | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-form-integer-contractions --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="it has too few columns for a vector, or their number is known only when run"
// REMARK-DAG: Reason="the right operand is not constant"
// REMARK-DAG: Reason="the right operand's scales or zero points are not one a column"
// REMARK-DAG: Reason="an operand is no 8-bit integers with a scale and a zero point"
// REMARK-DAG: Reason="it is a batch of products, each with a right operand of its own"
// REMARK-DAG: Reason="the left operand has more than one scale or zero point"
// REMARK-DAG: Reason="the result is neither float32 nor int32"
// REMARK-DAG: Reason="a sum may be longer than 32 bits hold, or its length is known only when run"
// REMARK-DAG: Reason="the contraction has no columns of its right operand's own"
// REMARK-DAG: Reason="it sums over windows alone, or over several dims"
// REMARK-DAG: Reason="the right operand has zero points, and the left one's rows are windows"
// REMARK-DAG: Reason="floats take less time on this machine"

// Symmetric weights: one correction, a number a column, that folds.
// CHECK-LABEL: func.func @product
// CHECK: %[[W:.*]] = graph.constant {{.*}} : tensor<64x32xi8>
// CHECK: %[[S:.*]] = graph.matmul %arg0, %[[W]] {to = i32} : (tensor<6x64xui8>, tensor<64x32xi8>) -> tensor<6x32xi32>
// CHECK: %[[C:.*]] = graph.reduce_sum %{{.*}} {dims = array<i64: 0>, keepdims = false}
// CHECK: %[[Z:.*]] = graph.mul %[[C]], %{{.*}} : (tensor<32xi32>, tensor<i32>)
// CHECK: %[[D:.*]] = graph.sub %[[S]], %[[Z]]
// CHECK: %[[F:.*]] = graph.cast %[[D]] {to = f32}
// CHECK: graph.mul %[[F]], %{{.*}} : (tensor<6x32xf32>, tensor<32xf32>)
func.func @product(%x: tensor<6x64xui8>, %sw: tensor<32xf32>) -> tensor<6x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %q = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
  %a = graph.dequantize %x, %s, %z {to = f32} : (tensor<6x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<6x64xf32>
  %w = graph.dequantize %q, %sw {to = f32} : (tensor<64x32xi8>, tensor<32xf32>) -> tensor<64x32xf32>
  %0 = graph.matmul %a, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  return %0 : tensor<6x32xf32>
}

// -----

// Signed data and unsigned weights move by 128; a zero point of weights takes the sums of rows; 6 is padded to 8.
// CHECK-LABEL: func.func @shifted
// CHECK: graph.cast %{{.*}} {to = ui8} : (tensor<5x6xi32>) -> tensor<5x6xui8>
// CHECK: graph.cast %{{.*}} {to = i8} : (tensor<6x16xi32>) -> tensor<6x16xi8>
// CHECK: graph.matmul %{{.*}} : (tensor<5x8xui8>, tensor<8x16xi8>) -> tensor<5x16xi32>
// CHECK: %[[R:.*]] = graph.reduce_sum %{{.*}} : (tensor<5x8xi32>) -> tensor<5x1xi32>
// CHECK: graph.mul %[[R]]
func.func @shifted(%x: tensor<5x6xi8>) -> tensor<5x16xi32> {
  %z = graph.constant {value = dense<100> : tensor<ui8>} : tensor<ui8>
  %q = graph.constant {value = dense<1> : tensor<6x16xui8>} : tensor<6x16xui8>
  %a = graph.center %x : (tensor<5x6xi8>) -> tensor<5x6xi32>
  %w = graph.center %q, %z : (tensor<6x16xui8>, tensor<ui8>) -> tensor<6x16xi32>
  %0 = graph.matmul %a, %w : (tensor<5x6xi32>, tensor<6x16xi32>) -> tensor<5x16xi32>
  return %0 : tensor<5x16xi32>
}

// -----

// A border of zeros is one of zero points; weights come through a transposition.
// CHECK-LABEL: func.func @border
// CHECK: %[[P:.*]] = graph.pad %arg0, %{{.*}} : (tensor<1x16x4x4xui8>, tensor<ui8>) -> tensor<1x16x6x6xui8>
// CHECK: graph.conv %[[P]], %{{.*}} to = i32
func.func @border(%x: tensor<1x16x4x4xui8>) -> tensor<1x32x4x4xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %q = graph.constant {value = dense<1> : tensor<16x32x3x3xi8>} : tensor<16x32x3x3xi8>
  %sw = graph.constant {value = dense<0.5> : tensor<1x32x1x1xf32>} : tensor<1x32x1x1xf32>
  %a = graph.dequantize %x, %s, %z {to = f32} : (tensor<1x16x4x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x16x4x4xf32>
  %w = graph.dequantize %q, %sw {to = f32} : (tensor<16x32x3x3xi8>, tensor<1x32x1x1xf32>) -> tensor<16x32x3x3xf32>
  %t = graph.transpose %w {order = array<i64: 1, 0, 2, 3>} : (tensor<16x32x3x3xf32>) -> tensor<32x16x3x3xf32>
  %0 = graph.pad %a {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x16x4x4xf32>) -> tensor<1x16x6x6xf32>
  %1 = graph.conv %0, %t {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x6x6xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x4x4xf32>
  return %1 : tensor<1x32x4x4xf32>
}

// -----

// Left alone: weights that are computed, scales along k, few columns.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: to = i32
func.func @alone(%x: tensor<6x64xui8>, %y: tensor<64x32xi8>, %sk: tensor<64x1xf32>) -> (tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x2xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
  %n = graph.constant {value = dense<1> : tensor<64x2xi8>} : tensor<64x2xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<6x64xui8>, tensor<f32>) -> tensor<6x64xf32>
  %b = graph.dequantize %y, %s {to = f32} : (tensor<64x32xi8>, tensor<f32>) -> tensor<64x32xf32>
  %c = graph.dequantize %q, %sk {to = f32} : (tensor<64x32xi8>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %d = graph.dequantize %n, %s {to = f32} : (tensor<64x2xi8>, tensor<f32>) -> tensor<64x2xf32>
  %0 = graph.matmul %a, %b : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %1 = graph.matmul %a, %c : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %2 = graph.matmul %a, %d : (tensor<6x64xf32>, tensor<64x2xf32>) -> tensor<6x2xf32>
  return %0, %1, %2 : tensor<6x32xf32>, tensor<6x32xf32>, tensor<6x2xf32>
}

// -----

// What comes quantized and is multiplied as floats, each for a reason of its own.
// CHECK-LABEL: func.func @refused
// CHECK-NOT: graph.matmul {{.*}}to = i32
func.func @refused(%x: tensor<6x64xui8>, %y: tensor<2x6x64xui8>, %v: tensor<1x64xf32>, %sx: tensor<64xf32>, %l: tensor<4x40000xi8>) -> (tensor<6x32xf32>, tensor<2x6x32xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x32xf64>, tensor<4x16xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
  %b = graph.constant {value = dense<1> : tensor<2x64x32xi8>} : tensor<2x64x32xi8>
  %g = graph.constant {value = dense<1> : tensor<40000x16xi8>} : tensor<40000x16xi8>
  %f = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
  %fx = graph.dequantize %x, %s {to = f32} : (tensor<6x64xui8>, tensor<f32>) -> tensor<6x64xf32>
  %fy = graph.dequantize %y, %s {to = f32} : (tensor<2x6x64xui8>, tensor<f32>) -> tensor<2x6x64xf32>
  %fs = graph.dequantize %x, %sx {to = f32} : (tensor<6x64xui8>, tensor<64xf32>) -> tensor<6x64xf32>
  %fq = graph.dequantize %q, %s {to = f32} : (tensor<64x32xi8>, tensor<f32>) -> tensor<64x32xf32>
  %fb = graph.dequantize %b, %s {to = f32} : (tensor<2x64x32xi8>, tensor<f32>) -> tensor<2x64x32xf32>
  %fl = graph.dequantize %l, %s {to = f32} : (tensor<4x40000xi8>, tensor<f32>) -> tensor<4x40000xf32>
  %fg = graph.dequantize %g, %s {to = f32} : (tensor<40000x16xi8>, tensor<f32>) -> tensor<40000x16xf32>
  %wx = graph.cast %fx {to = f64} : (tensor<6x64xf32>) -> tensor<6x64xf64>
  %wq = graph.dequantize %q, %s {to = f64} : (tensor<64x32xi8>, tensor<f32>) -> tensor<64x32xf64>
  %0 = graph.matmul %fx, %f : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %1 = graph.matmul %fy, %fb : (tensor<2x6x64xf32>, tensor<2x64x32xf32>) -> tensor<2x6x32xf32>
  %3 = graph.matmul %fs, %fq : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  %4 = graph.matmul %wx, %wq : (tensor<6x64xf64>, tensor<64x32xf64>) -> tensor<6x32xf64>
  %5 = graph.matmul %fl, %fg : (tensor<4x40000xf32>, tensor<40000x16xf32>) -> tensor<4x16xf32>
  %6 = graph.reduce_sum %fx {dims = array<i64: 1>, keepdims = false} : (tensor<6x64xf32>) -> tensor<6xf32>
  return %0, %1, %6, %3, %4, %5 : tensor<6x32xf32>, tensor<2x6x32xf32>, tensor<6xf32>, tensor<6x32xf32>, tensor<6x32xf64>, tensor<4x16xf32>
}

// -----

// The same for windows.
// CHECK-LABEL: func.func @refused_windows
// CHECK-NOT: graph.conv {{.*}}to = i32
func.func @refused_windows(%x: tensor<1x32x6x6xui8>, %y: tensor<1x1x6x6xui8>) -> (tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<7> : tensor<i8>} : tensor<i8>
  %q = graph.constant {value = dense<1> : tensor<32x1x3x3xi8>} : tensor<32x1x3x3xi8>
  %v = graph.constant {value = dense<1> : tensor<32x32x3x3xi8>} : tensor<32x32x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x32x6x6xui8>, tensor<f32>) -> tensor<1x32x6x6xf32>
  %b = graph.dequantize %y, %s {to = f32} : (tensor<1x1x6x6xui8>, tensor<f32>) -> tensor<1x1x6x6xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<32x1x3x3xi8>, tensor<f32>) -> tensor<32x1x3x3xf32>
  %u = graph.dequantize %v, %s, %z {to = f32} : (tensor<32x32x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<32x32x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 32 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x4x4xf32>
  %1 = graph.conv %b, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x1x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x4x4xf32>
  %2 = graph.conv %a, %u {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x6x6xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x4x4xf32>
  return %0, %1, %2 : tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>
}

// -----

// A machine that sums products of signed bytes alone: the data move, the weights do not.
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot<left = i8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>} {
// CHECK-LABEL: func.func @signed
// CHECK: graph.cast %{{.*}} {to = i8} : (tensor<6x64xi32>) -> tensor<6x64xi8>
// CHECK: graph.matmul %{{.*}} {to = i32} : (tensor<6x64xi8>, tensor<64x32xi8>) -> tensor<6x32xi32>
func.func @signed(%x: tensor<6x64xui8>, %sw: tensor<32xf32>) -> tensor<6x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<6x64xui8>, tensor<f32>) -> tensor<6x64xf32>
  %w = graph.dequantize %q, %sw {to = f32} : (tensor<64x32xi8>, tensor<32xf32>) -> tensor<64x32xf32>
  %0 = graph.matmul %a, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  return %0 : tensor<6x32xf32>
}
}

// -----

#signed = #plan.dot<left = i8, right = i8, sum = i32, intrinsic = "llvm.some.dot">
#mixed = #plan.dot<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">
#unsigned = #plan.dot<left = ui8, right = ui8, sum = i32, intrinsic = "llvm.some.dot">
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#signed, #mixed, #unsigned]>} {
// One that has several takes data as they are,
// CHECK-LABEL: func.func @dataStay
// CHECK: graph.matmul %arg0, %{{.*}} {to = i32} : (tensor<6x64xui8>, tensor<64x32xi8>) -> tensor<6x32xi32>
func.func @dataStay(%x: tensor<6x64xui8>, %sw: tensor<32xf32>) -> tensor<6x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<6x64xui8>, tensor<f32>) -> tensor<6x64xf32>
  %w = graph.dequantize %q, %sw {to = f32} : (tensor<64x32xi8>, tensor<32xf32>) -> tensor<64x32xf32>
  %0 = graph.matmul %a, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  return %0 : tensor<6x32xf32>
}

// and weights without a zero point, whatever they come as: no sums of rows.
// CHECK-LABEL: func.func @weightsMove
// CHECK: graph.matmul %arg0, %{{.*}} {to = i32} : (tensor<6x64xi8>, tensor<64x32xi8>) -> tensor<6x32xi32>
// CHECK-NOT: graph.reduce_sum
// CHECK: return
func.func @weightsMove(%x: tensor<6x64xi8>, %sw: tensor<32xf32>) -> tensor<6x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %zw = graph.constant {value = dense<128> : tensor<ui8>} : tensor<ui8>
  %q = graph.constant {value = dense<1> : tensor<64x32xui8>} : tensor<64x32xui8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<6x64xi8>, tensor<f32>) -> tensor<6x64xf32>
  %w = graph.dequantize %q, %sw, %zw {to = f32} : (tensor<64x32xui8>, tensor<32xf32>, tensor<ui8>) -> tensor<64x32xf32>
  %0 = graph.matmul %a, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
  return %0 : tensor<6x32xf32>
}
}

// -----

// Scales of the channels of a transposed convolution, whose weights are a matrix with columns for each place of the window.
// CHECK-LABEL: func.func @scales_reshaped
// CHECK: %[[E:.*]] = graph.expand {{.*}} -> tensor<1x2x2x8xf32>
// CHECK: %[[S:.*]] = graph.reshape %[[E]] {{.*}} -> tensor<1x32xf32>
// CHECK: graph.matmul %{{.*}}, %{{.*}} {to = i32} : (tensor<6x16xui8>, tensor<16x32xi8>) -> tensor<6x32xi32>
func.func @scales_reshaped(%x: tensor<6x16xui8>) -> tensor<6x32xf32> {
  %w = graph.constant {value = dense<1> : tensor<16x8x2x2xi8>} : tensor<16x8x2x2xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %sw = graph.constant {value = dense<[[[[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]], [[0.5]], [[0.25]]]]> : tensor<1x8x1x1xf32>} : tensor<1x8x1x1xf32>
  %z = graph.constant {value = dense<0> : tensor<1x8x1x1xi8>} : tensor<1x8x1x1xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<6x16xui8>, tensor<f32>) -> tensor<6x16xf32>
  %b = graph.dequantize %w, %sw, %z {to = f32} : (tensor<16x8x2x2xi8>, tensor<1x8x1x1xf32>, tensor<1x8x1x1xi8>) -> tensor<16x8x2x2xf32>
  %t = graph.transpose %b {order = array<i64: 0, 2, 3, 1>} : (tensor<16x8x2x2xf32>) -> tensor<16x2x2x8xf32>
  %m = graph.reshape %t {shape = [16, 32]} : (tensor<16x2x2x8xf32>) -> tensor<16x32xf32>
  %0 = graph.matmul %a, %m : (tensor<6x16xf32>, tensor<16x32xf32>) -> tensor<6x32xf32>
  return %0 : tensor<6x32xf32>
}

// -----

// Pairs of 16 bits save fewer products than minimal filtering of floats does.
// CHECK-LABEL: func.func @slower
// CHECK: graph.conv {{.*}} (tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>} {
func.func @slower(%x: tensor<1x64x16x16xui8>) -> tensor<1x64x14x14xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x16x16xui8>, tensor<f32>) -> tensor<1x64x16x16xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  return %0 : tensor<1x64x14x14xf32>
}
}

// -----

// But the filter's weights, four times as many numbers of four times the bytes, come from memory where the second cache does not keep them.
// CHECK-LABEL: func.func @streamed
// CHECK: graph.conv {{.*}} -> tensor<1x64x8x8xi32>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 65536, l3Bytes = 8388608, dots = [#plan.dot<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>} {
func.func @streamed(%x: tensor<1x64x10x10xui8>) -> tensor<1x64x8x8xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x10x10xui8>, tensor<f32>) -> tensor<1x64x10x10xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x10x10xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x8x8xf32>
  return %0 : tensor<1x64x8x8xf32>
}
}

// -----

#pairs = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.dot", accumulates = false>]>

// Large windows whose results are rounded to 8 bits take a quarter of the products in float32, which pairs of 16 bits do not make good.
// CHECK-LABEL: func.func @filtered
// CHECK: graph.conv {{.*}} -> tensor<1x64x64x64xf32>
module attributes {plan.target = #pairs} {
  func.func @filtered(%x: tensor<1x64x66x66xui8>) -> tensor<1x64x64x64xui8> {
    %w = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
    %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
    %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x66x66xui8>, tensor<f32>) -> tensor<1x64x66x66xf32>
    %b = graph.dequantize %w, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
    %0 = graph.conv %a, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x66x66xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x64x64xf32>
    %1 = graph.relu %0 : (tensor<1x64x64x64xf32>) -> tensor<1x64x64x64xf32>
    %2 = graph.quantize %1, %s {to = ui8} : (tensor<1x64x64x64xf32>, tensor<f32>) -> tensor<1x64x64x64xui8>
    return %2 : tensor<1x64x64x64xui8>
  }
}

// -----

// Groups of four bytes save more.
// CHECK-LABEL: func.func @faster
// CHECK: graph.conv {{.*}} -> tensor<1x64x14x14xi32>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>} {
func.func @faster(%x: tensor<1x64x16x16xui8>) -> tensor<1x64x14x14xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x16x16xui8>, tensor<f32>) -> tensor<1x64x16x16xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  return %0 : tensor<1x64x14x14xf32>
}
}

// -----

#fours = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>

// Sums of four products do.
// CHECK-LABEL: func.func @fours
// CHECK: graph.conv {{.*}}to = i32
module attributes {plan.target = #fours} {
  func.func @fours(%x: tensor<1x64x66x66xui8>) -> tensor<1x64x64x64xui8> {
    %w = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
    %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
    %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x66x66xui8>, tensor<f32>) -> tensor<1x64x66x66xf32>
    %b = graph.dequantize %w, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
    %0 = graph.conv %a, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x66x66xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x64x64xf32>
    %1 = graph.quantize %0, %s {to = ui8} : (tensor<1x64x64x64xf32>, tensor<f32>) -> tensor<1x64x64x64xui8>
    return %1 : tensor<1x64x64x64xui8>
  }
}

// -----

// Who quantized it has decided.
// CHECK-LABEL: func.func @decided
// CHECK: graph.conv {{.*}}strides = array<i64: 1, 1>, to = i32} {{.*}} -> tensor<1x64x14x14xi32>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>} {
func.func @decided(%x: tensor<1x64x16x16xui8>) -> tensor<1x64x14x14xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x16x16xui8>, tensor<f32>) -> tensor<1x64x16x16xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, graph.decided} : (tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  return %0 : tensor<1x64x14x14xf32>
}
}
