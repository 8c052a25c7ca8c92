// Reasons why a contraction has no register tiles, and why a reduction is no row-wise kernel; each
// reason once.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608,
  dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
#wide = #graph.layout<[1, 0], blockDim = 1, block = 32>
#columns = #graph.layout<[1, 0]>
module attributes {plan.target = #target} {

// CHECK: NotTiled | {{.*}}Reason="the kernel has other ops than one contraction, elementwise ops and indexing ops"
// CHECK: NotRows | {{.*}}Reason="the kernel also has a contraction or a prefix scan"
plan.kernel @sum(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1>} : (tensor<4x16xf32>) -> tensor<4x1xf32>
  graph.yield %1 : tensor<4x1xf32>
}
// CHECK: NotRows | {{.*}}Reason="a short window per element is unrolled in a nest over the result"
plan.kernel @window(%x: tensor<128x4xf32>) -> tensor<128x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<128x4xf32>) -> tensor<128x1xf32>
  graph.yield %0 : tensor<128x1xf32>
}
// CHECK: NotRows | {{.*}}Reason="a result of the kernel reads the reduction of another row"
plan.kernel @rows(%x: tensor<16x512xf32>, %i: tensor<4xi64>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<16x512xf32>) -> tensor<16x1xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<16x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  graph.yield %1 : tensor<4x1xf32>
}
// CHECK: Reason="the target has no vector multiply-add for the accumulators' type"
plan.kernel @bytes(%x: tensor<4x64xi8>, %w: tensor<64x16xi8>) -> tensor<4x16xi8> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xi8>, tensor<64x16xi8>) -> tensor<4x16xi8>
  graph.yield %0 : tensor<4x16xi8>
}
// CHECK: Reason="the right operand is computed in the kernel"
plan.kernel @right(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
// CHECK: Reason="the left operand is computed in the kernel"
plan.kernel @left(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
// CHECK: Reason="the left operand is read through an indexing op that is not foldable zero padding"
plan.kernel @moved(%x: tensor<64x4xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
// CHECK: Reason="the columns are not contiguous in memory"
plan.kernel @columns(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #columns>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #columns>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}
// CHECK: Reason="the packed weights, scales and offsets are not packed in equal panels"
plan.kernel @codes(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32, #wide>, %x: tensor<1x256xf32>) -> tensor<1x128xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32, #wide>) -> tensor<256x128xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  graph.yield %1 : tensor<1x128xf32>
}
// CHECK: Reason="a split-bf16 component of an operand is not stored like the first one"
plan.kernel @terms(%x0: tensor<3x6xbf16>, %w0: tensor<6x16xbf16>, %x1: tensor<3x6xbf16>, %w1: tensor<6x16xbf16>) -> tensor<3x16xf32> attributes {symbols = []} {
  %0 = graph.neg %x1 : (tensor<3x6xbf16>) -> tensor<3x6xbf16>
  %1 = graph.matmul %x0, %w0, %0, %w1 {to = f32} : (tensor<3x6xbf16>, tensor<6x16xbf16>, tensor<3x6xbf16>, tensor<6x16xbf16>) -> tensor<3x16xf32>
  graph.yield %1 : tensor<3x16xf32>
}
// CHECK: Reason="the low-precision operands are not packed in the groups that a dot-product instruction reads"
plan.kernel @groups(%x: tensor<3x6xbf16>, %w: tensor<6x16xbf16>) -> tensor<3x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<3x6xbf16>, tensor<6x16xbf16>) -> tensor<3x16xf32>
  graph.yield %0 : tensor<3x16xf32>
}
// CHECK: Reason="an op of the epilogue reads the contraction's result at another index than its own"
plan.kernel @elsewhere(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>, %i: tensor<4xi64>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
}

// -----

#l = #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
  dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
  matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 8, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>} {
// CHECK: Reason="a row of the matrix unit's tiles is not one vector"
plan.kernel @narrow(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<64x32xf32>
  graph.yield %0 : tensor<64x32xf32>
}
}

// -----

#l = #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
  dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
  matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 1, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 1>]>} {
// CHECK: Reason="a matrix unit needs more than one row"
plan.kernel @one(%x: tensor<1x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<1x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<1x32xf32>
  graph.yield %0 : tensor<1x32xf32>
}
}

// -----

#last = #graph.layout<[0, 2, 3, 1]>
#windows = #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
// CHECK: Reason="the weights are Winograd-transformed"
plan.kernel @transformed(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last>
  graph.yield %0 : tensor<1x16x3x3xf32, #last>
}
// CHECK: Reason="both operands are vectorized, and the right one has fewer bits"
plan.kernel @depthwise(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x1x3x3xbf16, #graph.layout<[2, 3, 1, 0]>>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, to = f32} : (tensor<1x16x8x8xf32, #last>, tensor<16x1x3x3xbf16, #graph.layout<[2, 3, 1, 0]>>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %0 : tensor<1x16x6x6xf32, #last>
}
}
