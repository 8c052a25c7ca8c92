// RUN: hewn-opt %s --split-input-file --hewn-form-integer-contractions | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-form-integer-contractions --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="it has fewer than 8 columns, or a dynamic number of them"
// REMARK-DAG: Reason="the right operand is computed, and the target has no integer dot products"
// REMARK-DAG: Reason="the right operand is computed, and the rows of the left operand are windows"
// REMARK-DAG: Reason="the GEMM is skinny, and packing its computed right operand at run time takes longer than it saves"
// REMARK-DAG: Reason="the right operand is computed, and the target's kernels multiply it in float"
// REMARK-DAG: Reason="an operand's scales or zero points vary along K, or its dims have another order than the result's"
// REMARK-DAG: Reason="the right operand's scales or zero points vary along other dims than the columns"
// REMARK-DAG: Reason="an operand is not an 8-bit integer tensor with a scale and a zero point"
// REMARK-DAG: Reason="it is a batched GEMM with several right operands"
// REMARK-DAG: Reason="the left operand has more than one scale or zero point"
// REMARK-DAG: Reason="the result is neither float32 nor int32"
// REMARK-DAG: Reason="K is dynamic or larger than 32768, so that an int32 accumulator could overflow"
// REMARK-DAG: Reason="the right operand has no column dim of its own"
// REMARK-DAG: Reason="it reduces window dims only, or several dims"
// REMARK-DAG: Reason="float is faster on this target"

// An integer matmul with symmetric weights needs one correction for the zero point of the
// activations: a constant per column, which the pass folds into the bias.
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

// The pass shifts signed activations and unsigned weights by 128, because the dot-product
// instruction needs the other signedness. A zero point of the weights needs the row sums of the
// activations without the elements that pad K from 6 to 8.
// CHECK-LABEL: func.func @shifted
// CHECK: graph.cast %{{.*}} {to = ui8} : (tensor<5x6xi32>) -> tensor<5x6xui8>
// CHECK: graph.cast %{{.*}} {to = i8} : (tensor<6x16xi32>) -> tensor<6x16xi8>
// CHECK: graph.matmul %{{.*}} : (tensor<5x8xui8>, tensor<8x16xi8>) -> tensor<5x16xi32>
// CHECK: %[[R:.*]] = graph.reduce_sum %{{.*}} : (tensor<5x6xi32>) -> tensor<5x1xi32>
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

// For an integer convolution, zero padding becomes padding with the zero point. The pass transposes
// the weights before the contraction.
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

// Not converted to integers: computed weights, scales along K, a small number of columns.
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

// Quantized operands that stay float contractions, each for another reason.
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

// Quantized convolutions that stay float, each for another reason.
// CHECK-LABEL: func.func @refused_windows
// CHECK-NOT: graph.conv {{.*}}to = i32
func.func @refused_windows(%x: tensor<1x32x6x6xui8>, %y: tensor<1x1x6x6xui8>) -> (tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<32x1x3x3xi8>} : tensor<32x1x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x32x6x6xui8>, tensor<f32>) -> tensor<1x32x6x6xf32>
  %b = graph.dequantize %y, %s {to = f32} : (tensor<1x1x6x6xui8>, tensor<f32>) -> tensor<1x1x6x6xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<32x1x3x3xi8>, tensor<f32>) -> tensor<32x1x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 32 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x4x4xf32>
  %1 = graph.conv %b, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x1x6x6xf32>, tensor<32x1x3x3xf32>) -> tensor<1x32x4x4xf32>
  return %0, %1 : tensor<1x32x4x4xf32>, tensor<1x32x4x4xf32>
}

// -----

// The zero point of a filter is multiplied by the sum of the integers in each window: a sum along the
// channels, then a convolution with ones.
// CHECK-LABEL: func.func @windows
// CHECK: %[[S:.*]] = graph.conv %{{.*}}to = i32} : (tensor<1x32x6x6xui8>, tensor<32x32x3x3xi8>) -> tensor<1x32x4x4xi32>
// CHECK: %[[C:.*]] = graph.reduce_sum %{{.*}} {dims = array<i64: 1>} : (tensor<1x32x6x6xi32>) -> tensor<1x1x6x6xi32>
// CHECK: %[[ONES:.*]] = graph.constant {value = dense<1> : tensor<1x1x3x3xi32>}
// CHECK: %[[W:.*]] = graph.conv %[[C]], %[[ONES]] {{.*}}to = i32} : (tensor<1x1x6x6xi32>, tensor<1x1x3x3xi32>) -> tensor<1x1x4x4xi32>
// CHECK: %[[Z:.*]] = graph.mul %[[W]], %{{.*}} : (tensor<1x1x4x4xi32>, tensor<i32>)
// CHECK: graph.sub %[[S]], %[[Z]]
// The window of a 1x1 filter is one element: there is no second convolution.
// CHECK: graph.conv %{{.*}}to = i32} : (tensor<1x32x6x6xui8>, tensor<32x32x1x1xi8>) -> tensor<1x32x6x6xi32>
// CHECK: graph.reduce_sum
// CHECK-NOT: graph.conv
func.func @windows(%x: tensor<1x32x6x6xui8>) -> (tensor<1x32x4x4xf32>, tensor<1x32x6x6xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<7> : tensor<i8>} : tensor<i8>
  %p = graph.constant {value = dense<1> : tensor<32x32x3x3xi8>} : tensor<32x32x3x3xi8>
  %q = graph.constant {value = dense<1> : tensor<32x32x1x1xi8>} : tensor<32x32x1x1xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x32x6x6xui8>, tensor<f32>) -> tensor<1x32x6x6xf32>
  %v = graph.dequantize %p, %s, %z {to = f32} : (tensor<32x32x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<32x32x3x3xf32>
  %w = graph.dequantize %q, %s, %z {to = f32} : (tensor<32x32x1x1xi8>, tensor<f32>, tensor<i8>) -> tensor<32x32x1x1xf32>
  %0 = graph.conv %a, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x6x6xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x4x4xf32>
  %1 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x6x6xf32>, tensor<32x32x1x1xf32>) -> tensor<1x32x6x6xf32>
  return %0, %1 : tensor<1x32x4x4xf32>, tensor<1x32x6x6xf32>
}

// -----

// On a target that has signed dot products only, the pass shifts unsigned activations, and not the
// weights.
module attributes {plan.target = #plan.cpu<vectorBytes = 16, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = i8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>} {
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

#signed = #plan.dot_product<left = i8, right = i8, sum = i32, intrinsic = "llvm.some.dot">
#mixed = #plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">
#unsigned = #plan.dot_product<left = ui8, right = ui8, sum = i32, intrinsic = "llvm.some.dot">
module attributes {plan.target = #plan.cpu<vectorBytes = 16, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#signed, #mixed, #unsigned]>} {
// On a target with several dot-product instructions, the pass uses the activations' type as it is.
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

// On a target with several dot-product instructions, the pass shifts weights of any type to zero
// point 0, so that no row sums are needed.
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

// Per-channel scales of a transposed convolution, whose weight matrix has a column for each channel
// and window position.
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

// Not converted to integers: pairwise 16-bit dot products save fewer operations of a 3x3
// convolution than float Winograd does.
// CHECK-LABEL: func.func @slower
// CHECK: graph.conv {{.*}} (tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>} {
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

// But Winograd weights, which are four times as many and four times as large, are streamed from
// memory if L2 does not hold them.
// CHECK-LABEL: func.func @streamed
// CHECK: graph.conv {{.*}} -> tensor<1x64x8x8xi32>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 65536, l3Bytes = 8388608, dots = [#plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>} {
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

#pairs = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.dot", accumulates = false>]>

// For large images with 8-bit results, Winograd in float32 needs a quarter of the multiplications,
// which pairwise 16-bit dot products do not outweigh.
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

// 4-way byte dot products save more instructions than Winograd in float32.
// CHECK-LABEL: func.func @faster
// CHECK: graph.conv {{.*}} -> tensor<1x64x14x14xi32>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>} {
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

#fours = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>

// With 4-way dot products, an integer 3x3 convolution is faster than Winograd in float32, so that
// the pass converts it.
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

// The pass does not compare costs for a model that hewn has quantized, because the quantization has
// already compared them.
// CHECK-LABEL: func.func @decided
// CHECK: graph.conv {{.*}}strides = array<i64: 1, 1>, to = i32} {{.*}} -> tensor<1x64x14x14xi32>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>} {
func.func @decided(%x: tensor<1x64x16x16xui8>) -> tensor<1x64x14x14xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<1x64x16x16xui8>, tensor<f32>) -> tensor<1x64x16x16xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
  %0 = graph.conv %a, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, graph.decided} : (tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x14x14xf32>
  return %0 : tensor<1x64x14x14xf32>
}
}

// -----

#fours = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">], hasFma = true>

module attributes {plan.target = #fours} {
// Computed keys: signed integers with per-row zero points, whose sums are computed at run time. A
// batch of matmuls.
// CHECK-LABEL: func.func @computed
// CHECK: %[[K:.*]] = graph.cast {{.*}} {to = i8} : (tensor<12x64x128xi32>) -> tensor<12x64x128xi8>
// CHECK: %[[C:.*]] = graph.reduce_sum {{.*}} {dims = array<i64: 1>} : (tensor<12x64x128xi32>) -> tensor<12x1x128xi32>
// CHECK: %[[A:.*]] = graph.sub %[[C]]
// CHECK: %[[B:.*]] = graph.mul %[[A]]
// CHECK: %[[R:.*]] = graph.reduce_sum {{.*}} {dims = array<i64: 2>} : (tensor<12x128x64xi32>) -> tensor<12x128x1xi32>
// CHECK: %[[D:.*]] = graph.mul %[[R]]
// CHECK: %[[S:.*]] = graph.matmul %arg0, %[[K]] {to = i32} : (tensor<12x128x64xui8>, tensor<12x64x128xi8>) -> tensor<12x128x128xi32>
// CHECK: %[[T:.*]] = graph.sub %[[S]], %[[B]]
// CHECK: %[[U:.*]] = graph.sub %[[T]], %[[D]]
// CHECK: %[[F:.*]] = graph.cast %[[U]] {to = f32}
// CHECK: graph.mul %[[F]]
func.func @computed(%q: tensor<12x128x64xui8>, %k: tensor<12x128x64xui8>) -> tensor<12x128x128xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<7> : tensor<ui8>} : tensor<ui8>
  %a = graph.dequantize %q, %s, %z {to = f32} : (tensor<12x128x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<12x128x64xf32>
  %b = graph.dequantize %k, %s, %z {to = f32} : (tensor<12x128x64xui8>, tensor<f32>, tensor<ui8>) -> tensor<12x128x64xf32>
  %t = graph.transpose %b {order = array<i64: 0, 2, 1>} : (tensor<12x128x64xf32>) -> tensor<12x64x128xf32>
  %0 = graph.matmul %a, %t : (tensor<12x128x64xf32>, tensor<12x64x128xf32>) -> tensor<12x128x128xf32>
  return %0 : tensor<12x128x128xf32>
}

// An operand needs no row or column sums if its zero point is 0, or becomes 0 when the signedness
// of its type changes.
// CHECK-LABEL: func.func @middle
// CHECK-NOT: graph.reduce_sum
// CHECK: graph.matmul %arg0, %{{.*}} {to = i32} : (tensor<128x64xui8>, tensor<64x32xi8>) -> tensor<128x32xi32>
// CHECK-NOT: graph.sub
// CHECK: return
func.func @middle(%p: tensor<128x64xui8>, %v: tensor<64x32xui8>) -> tensor<128x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<128> : tensor<ui8>} : tensor<ui8>
  %a = graph.dequantize %p, %s {to = f32} : (tensor<128x64xui8>, tensor<f32>) -> tensor<128x64xf32>
  %b = graph.dequantize %v, %s, %z {to = f32} : (tensor<64x32xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x32xf32>
  %0 = graph.matmul %a, %b : (tensor<128x64xf32>, tensor<64x32xf32>) -> tensor<128x32xf32>
  return %0 : tensor<128x32xf32>
}

// Integer matmuls with per-row and per-column zero points, and with a dynamic K, which the pass
// pads to full groups.
// CHECK-LABEL: func.func @open
// CHECK: graph.pad %arg0 {{.*}}4*floordiv(s + 3, 4) - s{{.*}} : (tensor<?x?xui8>) -> tensor<?x?xui8>
// CHECK: graph.matmul {{.*}}to = i32} : (tensor<?x?xui8>, tensor<?x?xi8>) -> tensor<?x?xi32>
func.func @open(%x: tensor<?x?xui8> {graph.dims = [#graph.dim<"r">, #graph.dim<"s">]}, %w: tensor<?x?xi8> {graph.dims = [#graph.dim<"s">, #graph.dim<"c">]}, %zx: tensor<?x1xui8> {graph.dims = [#graph.dim<"r">, 1]}, %zw: tensor<1x?xi8> {graph.dims = [1, #graph.dim<"c">]}) -> tensor<?x?xi32> {
  %a = graph.center %x, %zx {graph.dims = [[#graph.dim<"r">, #graph.dim<"s">]]} : (tensor<?x?xui8>, tensor<?x1xui8>) -> tensor<?x?xi32>
  %b = graph.center %w, %zw {graph.dims = [[#graph.dim<"s">, #graph.dim<"c">]]} : (tensor<?x?xi8>, tensor<1x?xi8>) -> tensor<?x?xi32>
  %0 = graph.matmul %a, %b {graph.dims = [[#graph.dim<"r">, #graph.dim<"c">]]} : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi32>
  return %0 : tensor<?x?xi32>
}

// A range that the user gives for a symbolic K bounds the integer sum, so that the pass can prove
// that it does not overflow.
// CHECK-LABEL: func.func @bounded
// CHECK: graph.matmul {{.*}}to = i32}
// CHECK: graph.matmul {{.*}} : (tensor<64x?xf32>, tensor<?x32xf32>) -> tensor<64x32xf32>
func.func @bounded(%p: tensor<64x?xui8> {graph.dims = [64, #graph.dim<"s">]}, %v: tensor<?x32xi8> {graph.dims = [#graph.dim<"s">, 32]}, %o: tensor<64x?xui8> {graph.dims = [64, #graph.dim<"t">]}, %u: tensor<?x32xi8> {graph.dims = [#graph.dim<"t">, 32]}) -> (tensor<64x32xf32>, tensor<64x32xf32>) attributes {graph.dim_ranges = {s = array<i64: 1, 512>, t = array<i64: 1, 40000>}} {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %a = graph.dequantize %p, %s {graph.dims = [[64, #graph.dim<"s">]], to = f32} : (tensor<64x?xui8>, tensor<f32>) -> tensor<64x?xf32>
  %b = graph.dequantize %v, %s {graph.dims = [[#graph.dim<"s">, 32]], to = f32} : (tensor<?x32xi8>, tensor<f32>) -> tensor<?x32xf32>
  %c = graph.dequantize %o, %s {graph.dims = [[64, #graph.dim<"t">]], to = f32} : (tensor<64x?xui8>, tensor<f32>) -> tensor<64x?xf32>
  %d = graph.dequantize %u, %s {graph.dims = [[#graph.dim<"t">, 32]], to = f32} : (tensor<?x32xi8>, tensor<f32>) -> tensor<?x32xf32>
  %0 = graph.matmul %a, %b : (tensor<64x?xf32>, tensor<?x32xf32>) -> tensor<64x32xf32>
  %1 = graph.matmul %c, %d : (tensor<64x?xf32>, tensor<?x32xf32>) -> tensor<64x32xf32>
  return %0, %1 : tensor<64x32xf32>, tensor<64x32xf32>
}

// Not converted to integers: a small number of float32 rows, convolutions, scales along K, and sums
// that may overflow.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: to = i32
func.func @stay(%x: tensor<2x64xui8>, %y: tensor<64x32xi8>, %i: tensor<1x32x6x6xui8>, %w: tensor<32x32x3x3xi8>, %u: tensor<64x64xui8>, %sk: tensor<64x1xf32>, %p: tensor<64x?xui8> {graph.dims = [64, #graph.dim<"s">]}, %v: tensor<?x32xi8> {graph.dims = [#graph.dim<"s">, 32]}) -> (tensor<2x32xf32>, tensor<1x32x4x4xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %a = graph.dequantize %x, %s {to = f32} : (tensor<2x64xui8>, tensor<f32>) -> tensor<2x64xf32>
  %b = graph.dequantize %y, %s {to = f32} : (tensor<64x32xi8>, tensor<f32>) -> tensor<64x32xf32>
  %c = graph.dequantize %i, %s {to = f32} : (tensor<1x32x6x6xui8>, tensor<f32>) -> tensor<1x32x6x6xf32>
  %d = graph.dequantize %w, %s {to = f32} : (tensor<32x32x3x3xi8>, tensor<f32>) -> tensor<32x32x3x3xf32>
  %e = graph.dequantize %u, %s {to = f32} : (tensor<64x64xui8>, tensor<f32>) -> tensor<64x64xf32>
  %f = graph.dequantize %y, %sk {to = f32} : (tensor<64x32xi8>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %g = graph.dequantize %p, %s {graph.dims = [[64, #graph.dim<"s">]], to = f32} : (tensor<64x?xui8>, tensor<f32>) -> tensor<64x?xf32>
  %h = graph.dequantize %v, %s {graph.dims = [[#graph.dim<"s">, 32]], to = f32} : (tensor<?x32xi8>, tensor<f32>) -> tensor<?x32xf32>
  %0 = graph.matmul %a, %b : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  %1 = graph.conv %c, %d {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x6x6xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x4x4xf32>
  %2 = graph.matmul %e, %f : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = graph.matmul %g, %h : (tensor<64x?xf32>, tensor<?x32xf32>) -> tensor<64x32xf32>
  return %0, %1, %2, %3 : tensor<2x32xf32>, tensor<1x32x4x4xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}
}

// -----

#pairs = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.pairs", accumulates = false>], hasFma = true>

// For pairwise 16-bit dot products, the pass subtracts the zero points from the operands before the
// contraction, so that no row or column sums are needed.
// CHECK-LABEL: func.func @in_pairs
// CHECK: %[[A:.*]] = graph.cast {{.*}} {to = i16} : (tensor<64x63xi32>) -> tensor<64x63xi16>
// CHECK: %[[B:.*]] = graph.cast {{.*}} {to = i16} : (tensor<63x32xi32>) -> tensor<63x32xi16>
// CHECK: graph.matmul {{.*}} {to = i32} : (tensor<64x64xi16>, tensor<64x32xi16>) -> tensor<64x32xi32>
// CHECK-NOT: graph.reduce_sum
// CHECK: return
module attributes {plan.target = #pairs} {
func.func @in_pairs(%x: tensor<64x63xui8>, %w: tensor<63x32xi8>, %zx: tensor<ui8>, %zw: tensor<i8>) -> tensor<64x32xi32> {
  %a = graph.center %x, %zx : (tensor<64x63xui8>, tensor<ui8>) -> tensor<64x63xi32>
  %b = graph.center %w, %zw : (tensor<63x32xi8>, tensor<i8>) -> tensor<63x32xi32>
  %0 = graph.matmul %a, %b : (tensor<64x63xi32>, tensor<63x32xi32>) -> tensor<64x32xi32>
  return %0 : tensor<64x32xi32>
}
}

// -----

// On a GPU, the pass keeps the quantized matmul in integers.
// CHECK-LABEL: func.func @on_grid
// CHECK-NOT: to = i32
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
func.func @on_grid(%x: tensor<64x64xui8>, %w: tensor<64x32xi8>) -> tensor<64x32xi32> {
  %a = graph.center %x : (tensor<64x64xui8>) -> tensor<64x64xi32>
  %b = graph.center %w : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %0 = graph.matmul %a, %b : (tensor<64x64xi32>, tensor<64x32xi32>) -> tensor<64x32xi32>
  return %0 : tensor<64x32xi32>
}
}
