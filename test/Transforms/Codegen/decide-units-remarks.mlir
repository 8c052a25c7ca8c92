// Reasons why packed low-bit weights do not use int8 slices, and why 16-bit operands do not use the
// matrix unit; each reason once.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
#byBytes = #plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot", accumulates = true>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#byBytes]>} {

// CHECK: NotBySlices | {{.*}}Reason="with many rows, short quantization blocks cost more than int8 slices save"
plan.kernel @short(%w: tensor<16x32xui32, #panels>, %s: tensor<4x32xf32, #panels>, %x: tensor<64x128xf32>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<16x32xui32, #panels>, tensor<4x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
  graph.yield %1 : tensor<64x32xf32>
}
// CHECK: NotBySlices | {{.*}}Reason="K is dynamic, or the quantization block is not a multiple of 16 elements"
plan.kernel @block(%w: tensor<16x32xui32, #panels>, %s: tensor<16x32xf32, #panels>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 8} : (tensor<16x32xui32, #panels>, tensor<16x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}
// CHECK: NotBySlices | {{.*}}Reason="the weights' lookup table has floats that are not multiples of a scale"
plan.kernel @table(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %t: tensor<16xf32>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode_by_table %w, %s, %t {bits = 4, block = 64} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>, tensor<16xf32>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}
// CHECK: NotBySlices | {{.*}}Reason="the target has no byte lookup instruction for the weights' table"
plan.kernel @bytes(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %t: tensor<16xf32>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode_by_table %w, %s, %t {bits = 4, block = 64, inBytes = true} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>, tensor<16xf32>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}
// CHECK: NotBySlices | {{.*}}Reason="the left operand's rows are not contiguous in memory"
plan.kernel @across(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<3x128xf32, #graph.layout<[1, 0]>>) -> tensor<3x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<3x128xf32, #graph.layout<[1, 0]>>, tensor<128x32xf32>) -> tensor<3x32xf32>
  graph.yield %1 : tensor<3x32xf32>
}
}

// -----

#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
#pairs = #plan.dot_product<left = ui8, right = i8, sum = i16, intrinsic = "llvm.some.pairs", accumulates = false>
#widen = #plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.widening", accumulates = false>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#pairs, #widen]>} {
// CHECK: NotBySlices | {{.*}}Reason="with many rows, 16-bit sums of three int8 slices are slower than dequantization"
plan.kernel @pairs(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<4x128xf32>) -> tensor<4x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x128xf32>, tensor<128x32xf32>) -> tensor<4x32xf32>
  graph.yield %1 : tensor<4x32xf32>
}
// No int8 slices: the sum of two products of 8-bit weights and slices does not fit into the 16 bits
// of the target's dot product.
// CHECK: NotBySlices | {{.*}}Reason="the target has no dot-product instruction for 8-bit integers"
plan.kernel @wide(%w: tensor<32x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 8, block = 64} : (tensor<32x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}
}

// -----

#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
// CHECK: NotBySlices | {{.*}}Reason="the target has no dot-product instruction for 8-bit integers"
plan.kernel @machine(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}
}

// -----

#panels = #graph.layout<[1, 0], blockDim = 1, block = 8>
#byBytes = #plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot", accumulates = true>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#byBytes], doubleRateHalfVectors = true>} {
// CHECK: NotBySlices | {{.*}}Reason="the columns do not fill the target's vectors"
plan.kernel @columns(%w: tensor<16x8xui32, #panels>, %s: tensor<2x8xf32, #panels>, %x: tensor<1x128xf32>) -> tensor<1x8xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x8xui32, #panels>, tensor<2x8xf32, #panels>) -> tensor<128x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x8xf32>) -> tensor<1x8xf32>
  graph.yield %1 : tensor<1x8xf32>
}
}

// -----

#l = #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
  dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
  matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>} {
// CHECK: NotMatrix | {{.*}}Reason="K is not a multiple of the matrix unit's depth"
plan.kernel @depth(%x: tensor<64x34xbf16>, %w: tensor<34x32xbf16, #l>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<64x34xbf16>, tensor<34x32xbf16, #l>) -> tensor<64x32xf32>
  graph.yield %0 : tensor<64x32xf32>
}
// CHECK: NotMatrix | {{.*}}Reason="the GEMM has too few rows to gain from the matrix unit"
plan.kernel @few(%x: tensor<2x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<2x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<2x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<2x32xf32>
  graph.yield %0 : tensor<2x32xf32>
}
// CHECK-NOT: NotMatrix
plan.kernel @many(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<64x32xf32>
  graph.yield %0 : tensor<64x32xf32>
}
}
