// RUN: hewn-opt %s --split-input-file --hewn-sink-weight-scales | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-sink-weight-scales --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: hewn-opt %s --split-input-file --hewn-sink-weight-scales=precision=medium --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEDIUM

#wide = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasHalfConversions = true>
module attributes {plan.target = #wide} {

// Convolutions whose 8-bit weights have one scale per feature, or a scalar scale.
// CHECK-LABEL: func.func @features
// CHECK: %[[S:.*]] = graph.constant {{.*}} : tensor<64xf32>
// CHECK: %[[Q:.*]] = graph.constant {{.*}} : tensor<64x64x5x5xi8>
// CHECK: %[[P:.*]] = graph.conv %arg0, %[[Q]] {{.*}}to = f32} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xi8>) -> tensor<1x64x5x5xf32>
// CHECK: %[[A:.*]] = graph.reshape %{{.*}} : {{.*}} -> tensor<1x64x1x1xf32>
// CHECK: %[[Y:.*]] = graph.mul %[[P]], %[[A]]
// CHECK: return %[[Y]]
func.func @features(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x5x5xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<64xf32>} : tensor<64xf32>
  %a = graph.reshape %s {shape = [64, 1, 1, 1]} : (tensor<64xf32>) -> tensor<64x1x1x1xf32>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %a {to = f32} : (tensor<64x64x5x5xi8>, tensor<64x1x1x1xf32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  return %0 : tensor<1x64x5x5xf32>
}

// CHECK-LABEL: func.func @all
// CHECK: graph.conv %arg0, %{{.*}} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xi8>) -> tensor<1x64x5x5xf32>
// CHECK: graph.mul %{{.*}} : (tensor<1x64x5x5xf32>, tensor<f32>)
func.func @all(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x5x5xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xi8>, tensor<f32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  return %0 : tensor<1x64x5x5xf32>
}

// Differences from a zero point at the midpoint fit signed 8 bits, from other zero points float16.
// CHECK-LABEL: func.func @zeros
// CHECK: %[[M:.*]] = graph.sub
// CHECK: %[[MI:.*]] = graph.cast %[[M]] {to = i8}
// CHECK: graph.conv %arg0, %[[MI]]
// CHECK: %[[O:.*]] = graph.sub
// CHECK: %[[OI:.*]] = graph.cast %[[O]] {to = f16}
// CHECK: graph.conv %arg0, %[[OI]]
// CHECK: %[[NI:.*]] = graph.cast %{{.*}} {to = f16}
// CHECK: graph.conv %arg0, %[[NI]]
func.func @zeros(%x: tensor<1x64x9x9xf32>) -> (tensor<1x64x5x5xf32>, tensor<1x64x5x5xf32>, tensor<1x64x5x5xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %m = graph.constant {value = dense<128> : tensor<ui8>} : tensor<ui8>
  %o = graph.constant {value = dense<127> : tensor<ui8>} : tensor<ui8>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xui8>} : tensor<64x64x5x5xui8>
  %a = graph.dequantize %q, %s, %m {to = f32} : (tensor<64x64x5x5xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x64x5x5xf32>
  %b = graph.dequantize %q, %s, %o {to = f32} : (tensor<64x64x5x5xui8>, tensor<f32>, tensor<ui8>) -> tensor<64x64x5x5xf32>
  %c = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xui8>, tensor<f32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %a {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  %1 = graph.conv %x, %b {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  %2 = graph.conv %x, %c {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  return %0, %1, %2 : tensor<1x64x5x5xf32>, tensor<1x64x5x5xf32>, tensor<1x64x5x5xf32>
}

// Matmuls with many rows, which no instruction dequantizes, through a transpose; PackLowBitWeights
// handles few rows.
// CHECK-LABEL: func.func @matrices
// CHECK: %[[T:.*]] = graph.transpose %{{.*}} : (tensor<256x128xi8>) -> tensor<128x256xi8>
// CHECK: %[[P:.*]] = graph.matmul %arg0, %[[T]] {to = f32} : (tensor<64x128xf32>, tensor<128x256xi8>) -> tensor<64x256xf32>
// CHECK: graph.mul %[[P]], %{{.*}} : (tensor<64x256xf32>, tensor<1x256xf32>)
// CHECK: graph.matmul %arg1, %{{.*}} : (tensor<1x128xf32>, tensor<128x256xf32>)
func.func @matrices(%x: tensor<64x128xf32>, %y: tensor<1x128xf32>) -> (tensor<64x256xf32>, tensor<1x256xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<256x1xf32>} : tensor<256x1xf32>
  %q = graph.constant {value = dense<1> : tensor<256x128xi8>} : tensor<256x128xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x128xi8>, tensor<256x1xf32>) -> tensor<256x128xf32>
  %t = graph.transpose %w {order = array<i64: 1, 0>} : (tensor<256x128xf32>) -> tensor<128x256xf32>
  %0 = graph.matmul %x, %t : (tensor<64x128xf32>, tensor<128x256xf32>) -> tensor<64x256xf32>
  %1 = graph.matmul %y, %t : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32>
  return %0, %1 : tensor<64x256xf32>, tensor<1x256xf32>
}

// Not rewritten, each with the reason.
// CHECK-LABEL: func.func @left
// CHECK-COUNT-4: graph.conv
// CHECK-NOT: graph.mul
// CHECK: return
// WHY: ScaledBefore | {{.*}}Reason="the scales of its weights vary along other dims than the columns"
// WHY: ScaledBefore | {{.*}}Reason="the right operand has no column dim of its own"
// WHY: ScaledBefore | {{.*}}Reason="it is not of float32"
// WHY: ScaledBefore | {{.*}}Reason="the result is neither float32 nor int32"
func.func @left(%x: tensor<1x64x9x9xf32>, %y: tensor<1x2048x9x9xf32>, %z: tensor<1x64x9x9xf16>) -> (tensor<1x64x5x5xf32>, tensor<1x2048x5x5xf32>, tensor<1x64x5x5xf32>, tensor<1x64x5x5xf16>) {
  %s = graph.constant {value = dense<0.5> : tensor<64x1x1xf32>} : tensor<64x1x1xf32>
  %t = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %h = graph.constant {value = dense<0.5> : tensor<f16>} : tensor<f16>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xi8>, tensor<64x1x1xf32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  %d = graph.constant {value = dense<1> : tensor<2048x1x5x5xi8>} : tensor<2048x1x5x5xi8>
  %v = graph.dequantize %d, %t {to = f32} : (tensor<2048x1x5x5xi8>, tensor<f32>) -> tensor<2048x1x5x5xf32>
  %1 = graph.conv %y, %v {dilations = array<i64: 1, 1>, groups = 2048 : i64, strides = array<i64: 1, 1>} : (tensor<1x2048x9x9xf32>, tensor<2048x1x5x5xf32>) -> tensor<1x2048x5x5xf32>
  %u = graph.dequantize %q, %h {to = f16} : (tensor<64x64x5x5xi8>, tensor<f16>) -> tensor<64x64x5x5xf16>
  %2 = graph.conv %z, %u {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, to = f32} : (tensor<1x64x9x9xf16>, tensor<64x64x5x5xf16>) -> tensor<1x64x5x5xf32>
  %3 = graph.conv %z, %u {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf16>, tensor<64x64x5x5xf16>) -> tensor<1x64x5x5xf16>
  return %0, %1, %2, %3 : tensor<1x64x5x5xf32>, tensor<1x2048x5x5xf32>, tensor<1x64x5x5xf32>, tensor<1x64x5x5xf16>
}
}

// -----

// In a matmul of one row with computed integers (a quantized cache), the pass applies scalar and
// per-head scales after accumulation.
// CHECK-LABEL: func.func @computed
// CHECK: %[[P:.*]] = graph.matmul %arg0, %arg1 {graph.keeps_weights, to = f32} : (tensor<1x3x1x?xf32>, tensor<1x3x?x64xi8>) -> tensor<1x3x1x64xf32>
// CHECK: graph.mul %[[P]], %{{.*}} : (tensor<1x3x1x64xf32>, tensor<f32>)
// CHECK: %[[Q:.*]] = graph.matmul %arg0, %arg1 {{.*}}i8>
// CHECK: graph.mul %[[Q]], %{{.*}} : (tensor<1x3x1x64xf32>, tensor<1x3x1x1xf32>)
func.func @computed(%x: tensor<1x3x1x?xf32> {graph.dims = [1, 3, 1, #graph.dim<"t">]}, %q: tensor<1x3x?x64xi8> {graph.dims = [1, 3, #graph.dim<"t">, 64]}, %h: tensor<1x3x1x1xf32>) -> (tensor<1x3x1x64xf32>, tensor<1x3x1x64xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %z = graph.constant {value = dense<0> : tensor<i8>} : tensor<i8>
  %w = graph.dequantize %q, %s, %z {graph.dims = [[1, 3, #graph.dim<"t">, 64]], to = f32} : (tensor<1x3x?x64xi8>, tensor<f32>, tensor<i8>) -> tensor<1x3x?x64xf32>
  %0 = graph.matmul %x, %w : (tensor<1x3x1x?xf32>, tensor<1x3x?x64xf32>) -> tensor<1x3x1x64xf32>
  %v = graph.dequantize %q, %h {graph.dims = [[1, 3, #graph.dim<"t">, 64]], to = f32} : (tensor<1x3x?x64xi8>, tensor<1x3x1x1xf32>) -> tensor<1x3x?x64xf32>
  %1 = graph.matmul %x, %v : (tensor<1x3x1x?xf32>, tensor<1x3x?x64xf32>) -> tensor<1x3x1x64xf32>
  return %0, %1 : tensor<1x3x1x64xf32>, tensor<1x3x1x64xf32>
}

// The pass multiplies scales along K into the left operand, and subtracts the row sums of the left
// operand times the zero points.
// CHECK-LABEL: func.func @along_sum
// CHECK: %[[T:.*]] = graph.transpose %arg1 {{.*}}ui8>
// CHECK: %[[X:.*]] = graph.mul %arg0, %{{.*}} : (tensor<1x3x1x64xf32>, tensor<1x1x1x64xf32>)
// CHECK: %[[S:.*]] = graph.reduce_sum %[[X]] {dims = array<i64: 3>{{.*}}} : (tensor<1x3x1x64xf32>) -> tensor<1x3x1x1xf32>
// CHECK: %[[Z:.*]] = graph.mul %[[S]], %{{.*}} : (tensor<1x3x1x1xf32>, tensor<f32>)
// CHECK: %[[P:.*]] = graph.matmul %[[X]], %[[T]] {{.*}}to = f32}
// CHECK: graph.sub %[[P]], %[[Z]]
func.func @along_sum(%x: tensor<1x3x1x64xf32>, %q: tensor<1x3x40x64xui8>) -> tensor<1x3x1x40xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<64xf32>} : tensor<64xf32>
  %z = graph.constant {value = dense<128> : tensor<ui8>} : tensor<ui8>
  %w = graph.dequantize %q, %s, %z {to = f32} : (tensor<1x3x40x64xui8>, tensor<64xf32>, tensor<ui8>) -> tensor<1x3x40x64xf32>
  %t = graph.transpose %w {order = array<i64: 0, 1, 3, 2>} : (tensor<1x3x40x64xf32>) -> tensor<1x3x64x40xf32>
  %0 = graph.matmul %x, %t : (tensor<1x3x1x64xf32>, tensor<1x3x64x40xf32>) -> tensor<1x3x1x40xf32>
  return %0 : tensor<1x3x1x40xf32>
}

// If several query heads share a head, the pass repeats it as integers.
// CHECK-LABEL: func.func @repeated
// CHECK: %[[E:.*]] = graph.expand %{{.*}} -> tensor<1x3x2x40x64xi8>
// CHECK: %[[R:.*]] = graph.reshape %[[E]] {{.*}} -> tensor<1x6x40x64xi8>
// CHECK: graph.matmul %arg0, %[[R]] {{.*}}i8>
func.func @repeated(%x: tensor<1x6x1x40xf32>, %q: tensor<1x3x40x64xi8>) -> tensor<1x6x1x64xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<1x3x40x64xi8>, tensor<f32>) -> tensor<1x3x40x64xf32>
  %u = graph.reshape %w {shape = [1, 3, 1, 40, 64]} : (tensor<1x3x40x64xf32>) -> tensor<1x3x1x40x64xf32>
  %e = graph.expand %u {shape = [1, 3, 2, 40, 64]} : (tensor<1x3x1x40x64xf32>) -> tensor<1x3x2x40x64xf32>
  %r = graph.reshape %e {shape = [1, 6, 40, 64]} : (tensor<1x3x2x40x64xf32>) -> tensor<1x6x40x64xf32>
  %0 = graph.matmul %x, %r : (tensor<1x6x1x40xf32>, tensor<1x6x40x64xf32>) -> tensor<1x6x1x64xf32>
  return %0 : tensor<1x6x1x64xf32>
}

// CHECK-LABEL: func.func @computed_left
// CHECK-COUNT-3: graph.matmul {{.*}} -> tensor<1x3x{{[17]}}x64xf32>
// CHECK: graph.conv {{.*}}xf32>)
// WHY: ScaledBefore | {{.*}}Reason="several rows read its integers, and converting them to float once is faster"
// WHY: ScaledBefore | {{.*}}Reason="its scales or zero points vary along both K and the columns"
// WHY: ScaledBefore | {{.*}}Reason="it is not of float32"
// WHY: ScaledBefore | {{.*}}Reason="it reduces window dims only or several dims, or its dims have another order than the result's"
// WHY: ScaledBefore | {{.*}}Reason="the right operand has no column dim of its own"
func.func @computed_left(%x: tensor<1x3x7x40xf32>, %y: tensor<1x3x1x40xf32>, %q: tensor<1x3x40x64xi8>, %h: tensor<1x1x40x64xf32>, %k: tensor<8x64x9x9xi8>, %d: tensor<64x1x9x9xi8>, %i: tensor<1x64x9x9xf32>) -> (tensor<1x3x7x64xf32>, tensor<1x3x1x64xf32>, tensor<1x3x1x64xf32>, tensor<1x8x1x1xf32>, tensor<1x64x1x1xf32>) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<1x3x40x64xi8>, tensor<f32>) -> tensor<1x3x40x64xf32>
  %0 = graph.matmul %x, %w : (tensor<1x3x7x40xf32>, tensor<1x3x40x64xf32>) -> tensor<1x3x7x64xf32>
  %v = graph.dequantize %q, %h {to = f32} : (tensor<1x3x40x64xi8>, tensor<1x1x40x64xf32>) -> tensor<1x3x40x64xf32>
  %1 = graph.matmul %y, %v : (tensor<1x3x1x40xf32>, tensor<1x3x40x64xf32>) -> tensor<1x3x1x64xf32>
  %yh = graph.cast %y {to = f16} : (tensor<1x3x1x40xf32>) -> tensor<1x3x1x40xf16>
  %2 = graph.matmul %yh, %w {to = f32} : (tensor<1x3x1x40xf16>, tensor<1x3x40x64xf32>) -> tensor<1x3x1x64xf32>
  %c = graph.dequantize %k, %s {to = f32} : (tensor<8x64x9x9xi8>, tensor<f32>) -> tensor<8x64x9x9xf32>
  %3 = graph.conv %i, %c {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<8x64x9x9xf32>) -> tensor<1x8x1x1xf32>
  %e = graph.dequantize %d, %s {to = f32} : (tensor<64x1x9x9xi8>, tensor<f32>) -> tensor<64x1x9x9xf32>
  %4 = graph.conv %i, %e {dilations = array<i64: 1, 1>, groups = 64 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x1x9x9xf32>) -> tensor<1x64x1x1xf32>
  return %0, %1, %2, %3, %4 : tensor<1x3x7x64xf32>, tensor<1x3x1x64xf32>, tensor<1x3x1x64xf32>, tensor<1x8x1x1xf32>, tensor<1x64x1x1xf32>
}

// -----

// On a target with vectors of four elements, which extends 8-bit types slowly, a convolution of
// many rows is faster with float32 weights.
#short = #plan.cpu<vectorBytes = 16, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasHalfConversions = true>
module attributes {plan.target = #short} {
// CHECK-LABEL: func.func @short
// CHECK: graph.conv {{.*}}xf32>, tensor<64x64x5x5xf32>
// WHY: ScaledBefore | {{.*}}Reason="float32 weights are faster: the GEMM has many or a dynamic number of rows, and this target extends the narrow type slowly"
func.func @short(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x5x5xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xi8>, tensor<f32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  return %0 : tensor<1x64x5x5xf32>
}
}

// -----

// Winograd weights: with tiles of 2, for which float16 has enough significand bits, and with tiles
// of 4, for which it has not.
#filters = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, hasHalfConversions = true>
module attributes {plan.target = #filters} {
// CHECK-LABEL: func.func @filtered
// CHECK: graph.conv {{.*}}xi8>
// MEDIUM: ScaledBefore | {{.*}}Reason="its Winograd tile needs float32 precision"
func.func @filtered(%x: tensor<1x64x58x58xf32>) -> tensor<1x64x56x56xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x3x3xi8>, tensor<f32>) -> tensor<64x64x3x3xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  return %0 : tensor<1x64x56x56xf32>
}
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#dots = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, hasHalfConversions = true,
    dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>
module attributes {plan.target = #dots} {
// CHECK-LABEL: func.func @pairs
// CHECK: graph.conv {{.*}}xi8>
// MEDIUM: ScaledBefore | {{.*}}Reason="bfloat16 weights are faster: the target's dot products multiply faster than integers are extended"
func.func @pairs(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x5x5xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xi8>, tensor<f32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  return %0 : tensor<1x64x5x5xf32>
}
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>
module attributes {plan.target = #unit} {
// WHY: ScaledBefore | {{.*}}Reason="float weights are faster: the matrix unit multiplies faster than weights are extended"
func.func @unit(%x: tensor<1x64x36x36xf32>) -> tensor<1x64x32x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xi8>, tensor<f32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x36x36xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x32x32xf32>
  return %0 : tensor<1x64x32x32xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// WHY: ScaledBefore | {{.*}}Reason="the target's kernels multiply weights that are extended at compile time"
func.func @grid(%x: tensor<1x64x9x9xf32>) -> tensor<1x64x5x5xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x64x5x5xi8>, tensor<f32>) -> tensor<64x64x5x5xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x9x9xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x5x5xf32>
  return %0 : tensor<1x64x5x5xf32>
}
}
