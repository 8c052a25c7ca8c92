// Contractions of half floats by groups of warps, from shared memory, where the machine has such an instruction.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {

// A group has 64 rows: two of them, four slices of 64 bytes, which both operands have in one memory that a block is given. The left
// operand's lines are 64 bytes along the sum, eight of them 512 bytes; the right one's 128 bytes along its columns, a second panel of
// them 4096 bytes behind the first. The next slice is brought while the products go on. Rows of 508 halves begin within 16 bytes: such an operand can't be fetched.
// CHECK-DAG: memref.global "private" @groups_shared : memref<65536xi8, 3> = uninitialized {alignment = 1024 : i64}
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: #plan.grid_launch<blocks = 16, threads = 256, symbols = [], sharedBytes = 65536
// CHECK-DAG: %[[LEFT:.*]] = arith.constant -9223371899415822336 : i64
// CHECK-DAG: %[[RIGHT:.*]] = arith.constant 4611686293322072064 : i64
// CHECK-DAG: memref.view {{.*}}[%c0][] : memref<65536xi8, 3> to memref<16384xf16, 3>
// CHECK-DAG: memref.view {{.*}}[%c32768][] : memref<65536xi8, 3> to memref<16384xf16, 3>
// CHECK: scf.for
// CHECK: grid.async_wait 2
// CHECK-NEXT: nvptx.fence_proxy_async
// CHECK-NEXT: grid.barrier
// CHECK: nvptx.wgmma_fence
// CHECK: nvptx.wgmma along_sum({{.*}} as %[[LEFT]]) * across_sum({{.*}} as %[[RIGHT]]) + ({{.*}}) of f16, f16
// CHECK: nvptx.wgmma along_sum({{.*}}) * across_sum({{.*}}) + ({{.*}}) of f16, f16
// CHECK-NOT: nvptx.wgmma{{ }}
// CHECK: nvptx.wgmma_commit_group
// CHECK: grid.async_copy 16
// CHECK: grid.async_commit
// CHECK: nvptx.wgmma_wait_group 0,
// CHECK: return
plan.kernel @groups(%x: tensor<512x64xf16>, %w: tensor<64x508xf16>) -> tensor<512x508xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x508xf16>) -> tensor<512x508xf16>
  graph.yield %0 : tensor<512x508xf16>
}

// As few slices as the schedule says: nothing has to be given.
// CHECK-LABEL: func.func @ring(
// CHECK-SAME: attributes {{.*}}#plan.grid_launch<blocks = 16, threads = 256, symbols = [], {{.*}}alone = true
// CHECK: grid.async_wait 1
// CHECK: return
plan.kernel @ring(%x: tensor<512x64xf16>, %w: tensor<64x508xf16>) -> tensor<512x508xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128, buffers = 3>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x508xf16>) -> tensor<512x508xf16>
  graph.yield %0 : tensor<512x508xf16>
}

// Operands whose rows follow each other are fetched, 128 bytes along the sum: the left one's as one box, the right one's as one for each
// 64 columns. Eight warps multiply, of a group more one thread has that done; both sides go over all tiles and slices.
// CHECK-LABEL: func.func @fetched(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>}, %[[B:[a-z0-9]+]]: !llvm.ptr {
// CHECK-SAME: #plan.grid_launch<blocks = 16, threads = 384, symbols = [], sharedBytes = 131136, {{.*}}boxes = [#plan.box<argument = 1, bytes = 2, extents = [128, 512], strides = [256], sizes = [64, 128]>, #plan.box<argument = 2, bytes = 2, extents = [512, 128], strides = [1024], sizes = [64, 64]>]
// CHECK-COUNT-4: grid.mbarrier_init {{.*}}, 1
// CHECK-COUNT-4: grid.mbarrier_init {{.*}}, 8
// CHECK: grid.mbarrier_init_fence
// CHECK: grid.barrier
// CHECK: nvptx.setmaxnreg 232 grows
// CHECK: scf.for
// CHECK: scf.for
// CHECK: grid.mbarrier_wait
// CHECK-NOT: publish
// CHECK-COUNT-4: nvptx.wgmma along_sum({{.*}}) * across_sum({{.*}}) + ({{.*}}) of f16, f16
// CHECK: nvptx.wgmma_wait_group 0,
// CHECK-NEXT: scf.if
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: grid.mbarrier_arrive %
// CHECK: } else {
// CHECK: nvptx.setmaxnreg 40
// CHECK: scf.for
// CHECK: scf.for
// CHECK: grid.mbarrier_wait
// CHECK: grid.mbarrier_arrive_expect {{.*}}, 32768
// CHECK: nvptx.tma_load %[[A]][{{.*}}, {{.*}}] to
// CHECK-COUNT-2: nvptx.tma_load %[[B]][{{.*}}, {{.*}}] to
// CHECK-NOT: fetch
// CHECK: return
plan.kernel @fetched(%x: tensor<512x128xf16>, %w: tensor<128x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf16>, tensor<128x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// One group divides no registers. Extents may be known only when run.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME: extents = [64, #graph.dim<"s0">], strides = [128], sizes = [64, 64]
// CHECK-NOT: grid.registers
// CHECK: nvptx.tma_load
// CHECK: return
plan.kernel @unknown(%x: tensor<?x64xf16> {graph.dims = [#graph.dim<"s0">, 64]}, %w: tensor<64x512xf16>) -> tensor<?x512xf16> attributes {symbols = ["s0"], schedule = #plan.grid_tile<m = 64, n = 128>} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 512]]} : (tensor<?x64xf16>, tensor<64x512xf16>) -> tensor<?x512xf16>
  graph.yield %0 : tensor<?x512xf16>
}

// Fewer rows than a group has are multiplied by each warp on its own, and so is float32.
// CHECK-LABEL: func.func @fewer(
// CHECK-NOT: grid.group
// CHECK: grid.mma{{.*}} of f16, f16
// CHECK: return
plan.kernel @fewer(%x: tensor<512x64xf16>, %w: tensor<64x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// CHECK-LABEL: func.func @exact(
// CHECK-NOT: grid.group
// CHECK: grid.mma{{.*}} of f32, f32
// CHECK: return
plan.kernel @exact(%x: tensor<512x64xf32>, %w: tensor<64x512xf32>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 64, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

// A lane has a fragment's eight columns once the four lanes of a row have exchanged theirs of four fragments. What is as large as the
// result is loaded before the products, all that is loaded before anything is stored.
// CHECK-LABEL: func.func @more(
// CHECK: nvptx.setmaxnreg 232 grows
// CHECK: scf.for
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK-NOT: vector.load
// CHECK: nvptx.wgmma_wait_group 0,
// CHECK-NOT: vector.load
// CHECK: grid.shuffle_xor {{.*}}, 1 of
// CHECK-COUNT-8: vector.store {{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK: } else {
// CHECK: return
plan.kernel @more(%x: tensor<512x128xf16>, %w: tensor<128x512xf16>, %r: tensor<512x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf16>, tensor<128x512xf16>) -> tensor<512x512xf16>
  %1 = graph.add %0, %r : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  graph.yield %1 : tensor<512x512xf16>
}

// Of a number of columns that is no multiple of eight, two are stored together; what lies outside is read where the last ones are.
// CHECK-LABEL: func.func @pairs(
// CHECK-NOT: grid.shuffle_xor
// CHECK: arith.minsi
// CHECK: vector.load {{.*}} {alignment = 4 : i64} : memref<?xf16>, vector<2xf16>
// CHECK: scf.if
// CHECK: vector.store {{.*}} {alignment = 4 : i64} : memref<?xf16>, vector<2xf16>
// CHECK: return
plan.kernel @pairs(%x: tensor<512x64xf16>, %w: tensor<64x508xf16>, %r: tensor<512x508xf16>) -> tensor<512x508xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x508xf16>) -> tensor<512x508xf16>
  %1 = graph.add %0, %r : (tensor<512x508xf16>, tensor<512x508xf16>) -> tensor<512x508xf16>
  graph.yield %1 : tensor<512x508xf16>
}

}
