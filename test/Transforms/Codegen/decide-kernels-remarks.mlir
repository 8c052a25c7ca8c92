// What keeps a contraction from being register tiles, and a reduction from being passes over rows, each reason once.
// RUN: hewn-opt %s --split-input-file --hewn-decide-kernels --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608,
  dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
#wide = #graph.layout<[1, 0], blockDim = 1, block = 32>
#columns = #graph.layout<[1, 0]>
module attributes {plan.target = #target} {

// CHECK: NotTiled | {{.*}}Reason="its kernel has more than one contraction, elementwise ops and moves"
// CHECK: NotRows | {{.*}}Reason="its kernel has a contraction or running sums too"
plan.kernel @sum(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1>} : (tensor<4x16xf32>) -> tensor<4x1xf32>
  graph.yield %1 : tensor<4x1xf32>
}
// CHECK: NotRows | {{.*}}Reason="a short window of each element is straight code in a nest over the result"
plan.kernel @window(%x: tensor<128x4xf32>) -> tensor<128x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<128x4xf32>) -> tensor<128x1xf32>
  graph.yield %0 : tensor<128x1xf32>
}
// CHECK: NotRows | {{.*}}Reason="a result of its kernel reads it at other elements than its row's"
plan.kernel @rows(%x: tensor<16x512xf32>, %i: tensor<4xi64>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<16x512xf32>) -> tensor<16x1xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<16x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  graph.yield %1 : tensor<4x1xf32>
}
// CHECK: Reason="the machine has no vectors of its sums"
plan.kernel @bytes(%x: tensor<4x64xi8>, %w: tensor<64x16xi8>) -> tensor<4x16xi8> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xi8>, tensor<64x16xi8>) -> tensor<4x16xi8>
  graph.yield %0 : tensor<4x16xi8>
}
// CHECK: Reason="its right operand is computed in the kernel"
plan.kernel @right(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
// CHECK: Reason="its left operand is computed in the kernel"
plan.kernel @left(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
// CHECK: Reason="its left operand is read through a move that is no border of zeros to leave out"
plan.kernel @moved(%x: tensor<64x4xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %1 = graph.matmul %0, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
// CHECK: Reason="its columns are no neighbours in memory"
plan.kernel @columns(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #columns>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #columns>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}
// CHECK: Reason="its weights' codes, scales and offsets do not lie in equal panels"
plan.kernel @codes(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32, #wide>, %x: tensor<1x256xf32>) -> tensor<1x128xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32, #wide>) -> tensor<256x128xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  graph.yield %1 : tensor<1x128xf32>
}
// CHECK: Reason="terms of an operand are not in memory like its first"
plan.kernel @terms(%x0: tensor<3x6xbf16>, %w0: tensor<6x16xbf16>, %x1: tensor<3x6xbf16>, %w1: tensor<6x16xbf16>) -> tensor<3x16xf32> attributes {symbols = []} {
  %0 = graph.neg %x1 : (tensor<3x6xbf16>) -> tensor<3x6xbf16>
  %1 = graph.matmul %x0, %w0, %0, %w1 {to = f32} : (tensor<3x6xbf16>, tensor<6x16xbf16>, tensor<3x6xbf16>, tensor<6x16xbf16>) -> tensor<3x16xf32>
  graph.yield %1 : tensor<3x16xf32>
}
// CHECK: Reason="its narrow operands do not lie in the groups that an instruction sums"
plan.kernel @groups(%x: tensor<3x6xbf16>, %w: tensor<6x16xbf16>) -> tensor<3x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<3x6xbf16>, tensor<6x16xbf16>) -> tensor<3x16xf32>
  graph.yield %0 : tensor<3x16xf32>
}
// CHECK: Reason="a result of its kernel reads sums of other elements than its own"
plan.kernel @elsewhere(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>, %i: tensor<4xi64>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<4x16xf32>, tensor<4xi64>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
}

// -----

#l = #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
  dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
  matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 8, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>} {
// CHECK: Reason="a row of the matrix unit's tiles is no vector"
plan.kernel @narrow(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<64x32xf32>
  graph.yield %0 : tensor<64x32xf32>
}
}

// -----

#l = #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
  dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
  matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 1, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 1>]>} {
// CHECK: Reason="a matrix unit multiplies rows, and there are none"
plan.kernel @one(%x: tensor<1x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<1x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<1x32xf32>
  graph.yield %0 : tensor<1x32xf32>
}
}

// -----

#last = #graph.layout<[0, 2, 3, 1]>
#windows = #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
// CHECK: Reason="its windows are transformed by Winograd's method"
plan.kernel @transformed(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last>
  graph.yield %0 : tensor<1x16x3x3xf32, #last>
}
// CHECK: Reason="lanes run along both operands, and the right one is narrower"
plan.kernel @depthwise(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x1x3x3xbf16, #graph.layout<[2, 3, 1, 0]>>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, to = f32} : (tensor<1x16x8x8xf32, #last>, tensor<16x1x3x3xbf16, #graph.layout<[2, 3, 1, 0]>>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %0 : tensor<1x16x6x6xf32, #last>
}
}
