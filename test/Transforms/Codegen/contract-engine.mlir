// The register tile of a contraction: accumulators in registers over the whole sum, then the kernel's other ops on them.
// The schedules are set by hand.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// Two rows by two vectors: the packed panel is loaded once a step, each row's element is spread, nothing is stored inside.
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

// Columns past the end are masked where they are stored; a packed panel is whole, so its loads are not.
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

// A convolution is a product whose rows are windows, read in place: no buffer of them is made.
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

// A window in a border, over lines of a length that only a run tells: at a place where no row of the tile is inside nothing is done; where all are,
// rows are read as ever; else those outside read a line of zeros on the stack, in each half of the tile that has a row inside.
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

// Weights that are more than L2 holds: while one panel serves its tiles of rows, the next one is fetched, a part by each tile.
// CHECK-LABEL: func.func @ahead(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: memref.prefetch %{{.*}}, read, locality<2>, data
// CHECK-COUNT-4: vector.fma
// As many rows as a run has: not beyond the next panel.
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

// Groups of two channels and two columns: lanes are the columns of four groups. One load has the channels of all four, each of which is
// shuffled into its group's lanes, for weights that lie along the columns.
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
