// The register tile of a contraction: accumulators stay in registers over all of K, followed by the
// epilogue. The schedules are hand-written.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// A register tile of two rows by two vectors: each K step loads two vectors of the packed panel and
// broadcasts one element of each row. The loop over K has no stores.
// CHECK-LABEL: func.func @epilogue(
// CHECK: %[[ACC:.*]]:4 = scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: store
// CHECK: scf.yield
// CHECK: arith.addf %[[ACC]]#0
// CHECK: arith.addf %[[ACC]]#3
// CHECK-COUNT-4: vector.store
// CHECK-NOT: masked
plan.kernel @epilogue(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>, %b: tensor<16xf32>) -> tensor<4x16xf32>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x16xf32>
  %1 = graph.add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  %2 = graph.relu %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  graph.yield %2 : tensor<4x16xf32>
}

// The kernel masks the stores beyond the last column of the result. Packed panels are padded, so
// their loads need no mask.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[MASK:.*]] = vector.{{create|constant}}_mask
// CHECK: scf.for
// CHECK-NOT: maskedload
// CHECK: vector.fma
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
plan.kernel @columns(%x: tensor<4x64xf32>, %w: tensor<64x10xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x10xf32>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x10xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x10xf32>
  graph.yield %0 : tensor<4x10xf32>
}

// A convolution is a GEMM whose rows are windows that are read in place: there is no im2col buffer.
// CHECK-LABEL: func.func @conv(
// CHECK-NOT: memref.alloc
// CHECK: vector.fma
// CHECK-NOT: memref.alloc
// CHECK: return
plan.kernel @conv(%x: tensor<1x4x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x4x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>}
      : (tensor<1x4x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x4x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
}

// Code of a convolution with zero padding and image rows of dynamic length: it skips a window
// position for which all rows of the tile are in the padding. If no row is in the padding, the code
// reads all of them as usual. Otherwise it reads a row of zeros on the stack for each row in the
// padding, in each half of the tile that also has other rows.
// CHECK-LABEL: func.func @border_when_run(
// CHECK: %[[ZEROS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: scf.for
// CHECK: scf.if %{{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-NOT: arith.select
// CHECK-COUNT-4: vector.fma
// CHECK: } else {
// CHECK: scf.if %{{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CHECK-COUNT-2: arith.select {{.*}} : memref<?xf32, strided<[1], offset: ?>>
// CHECK-COUNT-2: vector.fma
// CHECK: scf.if %{{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CHECK-COUNT-2: arith.select {{.*}} : memref<?xf32, strided<[1], offset: ?>>
// CHECK-COUNT-2: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return
plan.kernel @border_when_run(%x: tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>> {graph.dims = [1, 8, 1, #graph.dim<"s0">]}, %w: tensor<8x8x1x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 8>>) -> tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>>
    attributes {symbols = ["s0"], schedule = #plan.contract<m = 4, n = 8, lanes = 8>} {
  %0 = graph.pad %x {low = [0, 0, 0, 12], high = [0, 0, 0, 12], graph.dims = [[1, 8, 1, #graph.dim<"s0 + 24">]]} : (tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>>
  %1 = graph.conv %0, %w {dilations = array<i64: 1, 12>, groups = 1 : i64, strides = array<i64: 1, 1>, graph.dims = [[1, 8, 1, #graph.dim<"s0">]]}
      : (tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<8x8x1x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 8>>) -> tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>>
  graph.yield %1 : tensor<1x8x1x?xf32, #graph.layout<[0, 2, 3, 1]>>
}

// For weights that exceed the L2 cache, each row tile prefetches a part of the next panel while the
// row tiles use one panel.
// CHECK-LABEL: func.func @ahead(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.prefetch %{{.*}}, read, locality<2>, data
// CHECK-COUNT-4: vector.fma
// If the number of rows is dynamic, the prefetches do not go beyond the end of the next panel.
// CHECK-LABEL: func.func @ahead_of_any(
// CHECK: %[[LAST:.*]] = arith.constant 15 : index
// CHECK: arith.minsi %{{.*}}, %[[LAST]]
// CHECK: memref.prefetch %{{.*}}, read, locality<2>, data
// CHECK-LABEL: func.func @cached(
// CHECK-NOT: memref.prefetch
// CHECK: return
plan.kernel @ahead(%x: tensor<64x512xf32>, %w: tensor<512x256xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<64x256xf32>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.matmul %x, %w : (tensor<64x512xf32>, tensor<512x256xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
plan.kernel @ahead_of_any(%x: tensor<?x512xf32> {graph.dims = [#graph.dim<"s0">, 512]}, %w: tensor<512x256xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<?x256xf32>
    attributes {symbols = ["s0"], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 256]]} : (tensor<?x512xf32>, tensor<512x256xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<?x256xf32>
  graph.yield %0 : tensor<?x256xf32>
}
plan.kernel @cached(%x: tensor<64x512xf32>, %w: tensor<512x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<64x64xf32>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.matmul %x, %w : (tensor<64x512xf32>, tensor<512x64xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<64x64xf32>
  graph.yield %0 : tensor<64x64xf32>
}

// A grouped convolution with two channels and two columns per group: the lanes of a vector are the
// columns of four groups. One load reads the channels of all four groups, which are shuffled to the
// lanes of their group. The weights are contiguous along the columns.
// CHECK-LABEL: func.func @groups(
// CHECK-NOT: vector.broadcast {{.*}} : f32
// CHECK-COUNT-2: vector.load {{.*}} vector<8xf32>
// CHECK: %[[X:.*]] = vector.load {{.*}} vector<8xf32>
// CHECK: %[[EVEN:.*]] = vector.shuffle %[[X]], %[[X]] [0, 0, 2, 2, 4, 4, 6, 6]
// CHECK: vector.fma %[[EVEN]]
// CHECK: %[[ODD:.*]] = vector.shuffle %[[X]], %[[X]] [1, 1, 3, 3, 5, 5, 7, 7]
// CHECK: vector.fma %[[ODD]]
// CHECK: return
plan.kernel @groups(%x: tensor<1x16x1x9xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x2x1x1xf32, #graph.layout<[1, 2, 3, 0]>>) -> tensor<1x16x1x9xf32, #graph.layout<[0, 2, 3, 1]>>
    attributes {symbols = [], schedule = #plan.contract<m = 1, n = 8, lanes = 8>} {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 8 : i64, strides = array<i64: 1, 1>}
      : (tensor<1x16x1x9xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x2x1x1xf32, #graph.layout<[1, 2, 3, 0]>>) -> tensor<1x16x1x9xf32, #graph.layout<[0, 2, 3, 1]>>
  graph.yield %0 : tensor<1x16x1x9xf32, #graph.layout<[0, 2, 3, 1]>>
}

}
