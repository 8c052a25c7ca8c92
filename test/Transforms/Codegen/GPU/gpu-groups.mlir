// Half-precision GEMMs by warpgroup MMA from shared memory.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {

// Code of a half-precision GEMM: a warpgroup computes 64 rows. The block has two warpgroups, four
// pipeline stages with K-slices of 64 bytes, in one dynamic shared memory buffer for both operands.
// Rows of the left operand have 64 bytes along K, and eight of them are 512 bytes. Rows of the
// right operand have 128 bytes along the columns; the second panel is 4096 bytes after the first.
// The next slice is copied while the MMAs run. Rows of 508 halves are not aligned to 16 bytes, so
// TMA can't load this operand.
// CHECK-DAG: memref.global "private" @groups_shared : memref<65536xi8, 3> = uninitialized {alignment = 1024 : i64}
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: #plan.gpu_launch<blocks = 16, threads = 256, symbols = [], sharedBytes = 65536
// CHECK-DAG: %[[LEFT:.*]] = arith.constant -9223371899415822336 : i64
// CHECK-DAG: %[[RIGHT:.*]] = arith.constant 4611686293322072064 : i64
// CHECK-DAG: memref.view {{.*}}[%c0][] : memref<65536xi8, 3> to memref<16384xf16, 3>
// CHECK-DAG: memref.view {{.*}}[%c32768][] : memref<65536xi8, 3> to memref<16384xf16, 3>
// CHECK: scf.for
// CHECK: simt.async_wait 2
// CHECK-NEXT: nvptx.fence_proxy_async
// CHECK-NEXT: simt.barrier
// CHECK: nvptx.wgmma_fence
// CHECK: nvptx.wgmma along_sum({{.*}} as %[[LEFT]]) * across_sum({{.*}} as %[[RIGHT]]) + ({{.*}}) of f16, f16
// CHECK: nvptx.wgmma along_sum({{.*}}) * across_sum({{.*}}) + ({{.*}}) of f16, f16
// CHECK-NOT: nvptx.wgmma{{ }}
// CHECK: nvptx.wgmma_commit_group
// CHECK: simt.async_copy 16
// CHECK: simt.async_commit
// CHECK: nvptx.wgmma_wait_group 0,
// CHECK: return
plan.kernel @groups(%x: tensor<512x64xf16>, %w: tensor<64x508xf16>) -> tensor<512x508xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x508xf16>) -> tensor<512x508xf16>
  graph.yield %0 : tensor<512x508xf16>
}

// The GEMM code uses the number of pipeline stages of a hand-written schedule. This number is so
// small that the kernel needs no dynamic shared memory.
// CHECK-LABEL: func.func @ring(
// CHECK-SAME: attributes {{.*}}#plan.gpu_launch<blocks = 16, threads = 256, symbols = [], {{.*}}alone = true
// CHECK: simt.async_wait 1
// CHECK: return
plan.kernel @ring(%x: tensor<512x64xf16>, %w: tensor<64x508xf16>) -> tensor<512x508xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128, buffers = 3>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x508xf16>) -> tensor<512x508xf16>
  graph.yield %0 : tensor<512x508xf16>
}

// The GEMM kernel loads operands with contiguous rows by TMA, 128 bytes along K: the left operand
// as one TMA tile, the right one as one tile per 64 columns. Eight warps compute; one thread of
// another warpgroup issues the loads. Both loop over all tiles and slices.
// CHECK-LABEL: func.func @fetched(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>}, %[[B:[a-z0-9]+]]: !llvm.ptr {
// CHECK-SAME: #plan.gpu_launch<blocks = 16, threads = 384, symbols = [], sharedBytes = 131136, {{.*}}boxes = [#plan.tma_tile<argument = 1, bytes = 2, extents = [128, 512], strides = [256], sizes = [64, 128]>, #plan.tma_tile<argument = 2, bytes = 2, extents = [512, 128], strides = [1024], sizes = [64, 64]>]
// CHECK-COUNT-4: simt.mbarrier_init {{.*}}, 1
// CHECK-COUNT-4: simt.mbarrier_init {{.*}}, 8
// CHECK: simt.mbarrier_init_fence
// CHECK: simt.barrier
// CHECK: nvptx.setmaxnreg 232 grows
// CHECK: scf.for
// CHECK: scf.for
// CHECK: simt.mbarrier_wait
// CHECK-NOT: publish
// CHECK-COUNT-4: nvptx.wgmma along_sum({{.*}}) * across_sum({{.*}}) + ({{.*}}) of f16, f16
// CHECK: nvptx.wgmma_wait_group 0,
// CHECK-NEXT: scf.if
// CHECK-NEXT: arith.index_cast
// CHECK-NEXT: simt.mbarrier_arrive %
// CHECK: } else {
// CHECK: nvptx.setmaxnreg 40
// CHECK: scf.for
// CHECK: scf.for
// CHECK: simt.mbarrier_wait
// CHECK: simt.mbarrier_arrive_expect {{.*}}, 32768
// CHECK: nvptx.tma_load %[[A]][{{.*}}, {{.*}}] to
// CHECK-COUNT-2: nvptx.tma_load %[[B]][{{.*}}, {{.*}}] to
// CHECK-NOT: fetch
// CHECK: return
plan.kernel @fetched(%x: tensor<512x128xf16>, %w: tensor<128x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf16>, tensor<128x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// A GEMM with a single computing warpgroup does not reassign registers between warpgroups
// (setmaxnreg). Its extents may be dynamic.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME: extents = [64, #graph.dim<"s0">], strides = [128], sizes = [64, 64]
// CHECK-NOT: grid.registers
// CHECK: nvptx.tma_load
// CHECK: return
plan.kernel @unknown(%x: tensor<?x64xf16> {graph.dims = [#graph.dim<"s0">, 64]}, %w: tensor<64x512xf16>) -> tensor<?x512xf16> attributes {symbols = ["s0"], schedule = #plan.gpu_tile<m = 64, n = 128>} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 512]]} : (tensor<?x64xf16>, tensor<64x512xf16>) -> tensor<?x512xf16>
  graph.yield %0 : tensor<?x512xf16>
}

// GEMMs with fewer rows than a warpgroup, and float32, use warp-level MMA.
// CHECK-LABEL: func.func @fewer(
// CHECK-NOT: grid.group
// CHECK: simt.mma{{.*}} of f16, f16
// CHECK: return
plan.kernel @fewer(%x: tensor<512x64xf16>, %w: tensor<64x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// CHECK-LABEL: func.func @exact(
// CHECK-NOT: grid.group
// CHECK: simt.mma{{.*}} of f32, f32
// CHECK: return
plan.kernel @exact(%x: tensor<512x64xf32>, %w: tensor<64x512xf32>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 64, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

// In the epilogue of a GEMM, the four lanes of a row exchange four fragments of accumulators, so
// that each lane has eight contiguous columns. The kernel loads residual operands before the MMAs,
// and all of them before any store.
// CHECK-LABEL: func.func @more(
// CHECK: nvptx.setmaxnreg 232 grows
// CHECK: scf.for
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK-NOT: vector.load
// CHECK: nvptx.wgmma_wait_group 0,
// CHECK-NOT: vector.load
// CHECK: simt.shuffle_xor {{.*}}, 1 of
// CHECK-COUNT-8: vector.store {{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK: } else {
// CHECK: return
plan.kernel @more(%x: tensor<512x128xf16>, %w: tensor<128x512xf16>, %r: tensor<512x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf16>, tensor<128x512xf16>) -> tensor<512x512xf16>
  %1 = graph.add %0, %r : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  graph.yield %1 : tensor<512x512xf16>
}

// If the number of columns of the GEMM's result is not a multiple of eight, the epilogue stores two
// columns together. Reads beyond the end are clamped to the last columns.
// CHECK-LABEL: func.func @pairs(
// CHECK-NOT: simt.shuffle_xor
// CHECK: arith.minsi
// CHECK: vector.load {{.*}} {alignment = 4 : i64} : memref<?xf16>, vector<2xf16>
// CHECK: scf.if
// CHECK: vector.store {{.*}} {alignment = 4 : i64} : memref<?xf16>, vector<2xf16>
// CHECK: return
plan.kernel @pairs(%x: tensor<512x64xf16>, %w: tensor<64x508xf16>, %r: tensor<512x508xf16>) -> tensor<512x508xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x508xf16>) -> tensor<512x508xf16>
  %1 = graph.add %0, %r : (tensor<512x508xf16>, tensor<512x508xf16>) -> tensor<512x508xf16>
  graph.yield %1 : tensor<512x508xf16>
}

}
