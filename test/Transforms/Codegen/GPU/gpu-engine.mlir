// GPU kernels are code for one thread: the only loops are over the thread's own elements, and
// vectors occur only in loads and stores.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {

// GPU code of a GEMM by FMA: a block computes a tile of 64 by 64 elements, of which a thread
// computes 4 by 4.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: #plan.gpu_launch<blocks = 32, threads = 256, symbols = []
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: memref.store {{.*}}, 3>
// CHECK: simt.barrier
// CHECK: memref.load {{.*}}, 3>
// CHECK-NOT: vector.
// CHECK: simt.barrier
plan.kernel @tiles(%x: tensor<256x96xf32>, %w: tensor<96x512xf32>, %b: tensor<512xf32>) -> tensor<256x512xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<256x96xf32>, tensor<96x512xf32>) -> tensor<256x512xf32>
  %1 = graph.add %0, %b : (tensor<256x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  graph.yield %1 : tensor<256x512xf32>
}

// GPU code of a skinny GEMM: a block computes 8 columns, so that more multiprocessors read weights,
// and a lane loads four columns at once. Sixteen lanes of each warp, and all warps of the block,
// split K.
// CHECK-LABEL: func.func @few(
// CHECK-SAME: #plan.gpu_launch<blocks = 64, threads = 256, symbols = []
// CHECK: scf.if {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-COUNT-8: arith.select
// CHECK-COUNT-32: simt.shuffle_xor
// CHECK: memref.store {{.*}} : memref<128xf32, 3>
// CHECK: simt.barrier
plan.kernel @few(%x: tensor<2x96xf32>, %w: tensor<96x512xf32>) -> tensor<2x512xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2x96xf32>, tensor<96x512xf32>) -> tensor<2x512xf32>
  graph.yield %0 : tensor<2x512xf32>
}

// GPU code of a prefix scan: one block scans a row. States of the scan are combined by shuffles
// within a warp, and in shared memory within the block.
// CHECK-LABEL: func.func @sweep(
// CHECK-SAME: #plan.gpu_launch<blocks = 3, threads = 256, symbols = []
// CHECK: scf.for {{.*}} -> (f32)
// CHECK-COUNT-5: simt.shuffle_xor
// CHECK: memref.store {{.*}} : memref<8xf32, 3>
// CHECK: simt.barrier
// CHECK: memref.load {{.*}} : memref<8xf32, 3>
// CHECK: simt.barrier
// CHECK-NOT: scf.for
// CHECK: return
plan.kernel @sweep(%x: tensor<3x5000xf32>) -> tensor<3x5000xf32> attributes {symbols = []} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<3x5000xf32>) -> tensor<3x5000xf32>
  graph.yield %0 : tensor<3x5000xf32>
}

// GPU code of a reduction over rows of 128 elements: one warp per row, eight rows per block. A warp
// combines its partial sums in registers.
// CHECK-LABEL: func.func @warps(
// CHECK-SAME: #plan.gpu_launch<blocks = 125, threads = 256, symbols = []
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32)
// CHECK-COUNT-5: simt.shuffle_xor
// CHECK-NOT: simt.barrier
// CHECK: return
plan.kernel @warps(%x: tensor<1000x128xf32>) -> tensor<1000xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>, keepdims = false} : (tensor<1000x128xf32>) -> tensor<1000xf32>
  graph.yield %0 : tensor<1000xf32>
}

// GPU code of a reduction over long rows: one block per row. The block combines the sums of its
// warps in shared memory.
// CHECK-LABEL: func.func @block(
// CHECK-SAME: #plan.gpu_launch<blocks = 16,
// CHECK-COUNT-5: simt.shuffle_xor
// CHECK: memref.store {{.*}} : memref<8xf32, 3>
// CHECK: simt.barrier
// CHECK: memref.load {{.*}} : memref<8xf32, 3>
// CHECK: simt.barrier
plan.kernel @block(%x: tensor<16x4096xf32>) -> tensor<16xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>, keepdims = false} : (tensor<16x4096xf32>) -> tensor<16xf32>
  graph.yield %0 : tensor<16xf32>
}

// GPU code of an elementwise kernel: each thread computes one element. For dynamic sizes, the
// number of blocks is an expression of the symbols.
// CHECK-LABEL: func.func @map(
// CHECK-SAME: #plan.gpu_launch<blocks = "min(1048576, floordiv(s0 + 255, 256))", threads = 256, symbols = ["s0"]
// CHECK: simt.thread_id
// CHECK: simt.block_id
// CHECK: scf.for
// CHECK: memref.load
// CHECK: arith.addf
// CHECK: memref.store
plan.kernel @map(%x: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}) -> tensor<?xf32> attributes {symbols = ["s0"]} {
  %0 = graph.add %x, %x {graph.dims = [[#graph.dim<"s0">]]} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}
// If the elements of an elementwise kernel are contiguous, a thread processes 16 bytes of them.
// Scalars stay scalars; ops on the elements are evaluated one by one.
// CHECK-LABEL: func.func @wide(
// CHECK-SAME: #plan.gpu_launch<blocks = 63,
// CHECK: vector.load {{.*}} {alignment = 8 : i64} : memref<?xf16>, vector<4xf16>
// CHECK: memref.load {{.*}} : memref<?xf32>
// CHECK-COUNT-4: arith.addf {{.*}} : f32
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
plan.kernel @wide(%x: tensor<64x1000xf16>, %y: tensor<64x1xf32>) -> tensor<64x1000xf32> attributes {symbols = []} {
  %0 = graph.cast %x {to = f32} : (tensor<64x1000xf16>) -> tensor<64x1000xf32>
  %1 = graph.add %0, %y : (tensor<64x1000xf32>, tensor<64x1xf32>) -> tensor<64x1000xf32>
  graph.yield %1 : tensor<64x1000xf32>
}

// A row-wise reduction that loads 16 bytes per thread at a time.
// CHECK-LABEL: func.func @wide_rows(
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-COUNT-5: simt.shuffle_xor
plan.kernel @wide_rows(%x: tensor<1000x256xf32>) -> tensor<1000xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>, keepdims = false} : (tensor<1000x256xf32>) -> tensor<1000xf32>
  graph.yield %0 : tensor<1000xf32>
}

// An operand with another innermost dim than the result is transposed in a shared memory tile with
// rows of 33 elements.
// CHECK-LABEL: func.func @turn(
// CHECK-SAME: #plan.gpu_launch<blocks = 8,
// CHECK: memref.store {{.*}} : memref<1056xf32, 3>
// CHECK: simt.barrier
// CHECK: memref.load {{.*}} : memref<1056xf32, 3>
// CHECK: arith.addf
// CHECK: simt.barrier
plan.kernel @turn(%x: tensor<50x100xf32, #graph.layout<[1, 0]>>, %y: tensor<100xf32>) -> tensor<50x100xf32> attributes {symbols = []} {
  %0 = graph.add %x, %y : (tensor<50x100xf32, #graph.layout<[1, 0]>>, tensor<100xf32>) -> tensor<50x100xf32>
  graph.yield %0 : tensor<50x100xf32>
}
}
