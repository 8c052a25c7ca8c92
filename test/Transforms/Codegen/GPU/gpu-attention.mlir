// GPU code of fused attention: the scores (results of the first GEMM) stay in registers.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 1, limits = #limits, costs = #gpuCosts>} {

// Attention with a softmax takes one pass over the columns: each lane keeps maximum and sum of two
// rows, and four accumulators for eight columns of the result. A block has 64 rows in four warps. A
// tile has 32 columns; the first GEMM takes two K steps of 8, the second one four.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: #plan.gpu_launch<blocks = 4, threads = 128, symbols = []
// CHECK: simt.async_copy 16
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32) {
// CHECK: simt.async_wait 0
// CHECK: simt.barrier
// CHECK: simt.async_copy 16
// CHECK-COUNT-8: simt.mma{{.*}} of f32, f32
// CHECK: simt.async_wait 0
// CHECK: simt.barrier
// CHECK: simt.async_copy 16
// CHECK: simt.shuffle_xor
// CHECK: math.exp
// CHECK-COUNT-4: simt.mma{{.*}} of f32, f32
// CHECK-NOT: simt.mma
// CHECK-NOT: scf.for
// CHECK: return
plan.kernel @softmax(%q: tensor<2x128x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x128x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 4, warpsN = 1, columns = 32, factors = f32, online = true>} {
  %s = graph.matmul %q, %k : (tensor<2x128x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x128x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x128x256xf32>) -> tensor<2x128x1xf32>
  %d = graph.sub %s, %m : (tensor<2x128x256xf32>, tensor<2x128x1xf32>) -> tensor<2x128x256xf32>
  %e = graph.exp %d : (tensor<2x128x256xf32>) -> tensor<2x128x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x128x256xf32>) -> tensor<2x128x1xf32>
  %w = graph.div %e, %t : (tensor<2x128x256xf32>, tensor<2x128x1xf32>) -> tensor<2x128x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x128x256xf32>, tensor<2x256x8xf32>) -> tensor<2x128x8xf32>
  graph.yield %y : tensor<2x128x8xf32>
}

// Attention with one row: the warps of a block split the columns and combine their partial results
// at the end.
// CHECK-LABEL: func.func @one_row(
// CHECK-SAME: #plan.gpu_launch<blocks = 2, threads = 128, symbols = []
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32) {
// CHECK-COUNT-3: memref.store {{.*}} : memref<256xf32, 3>
// CHECK: simt.barrier
// CHECK: memref.load {{.*}} : memref<256xf32, 3>
// CHECK: return
plan.kernel @one_row(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %e = graph.exp %d : (tensor<2x1x256xf32>) -> tensor<2x1x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}

// With other row-wise ops than a softmax between the GEMMs, attention takes one pass over the
// columns for the reduction and one for the second GEMM.
// CHECK-LABEL: func.func @centred(
// CHECK: scf.for {{.*}} -> (f32, f32) {
// CHECK-COUNT-8: simt.mma{{.*}} of f32, f32
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32) {
// CHECK-COUNT-12: simt.mma{{.*}} of f32, f32
// CHECK-NOT: simt.mma
// CHECK: return
plan.kernel @centred(%q: tensor<128x16xf32>, %k: tensor<16x256xf32>, %v: tensor<256x8xf32>) -> tensor<128x8xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<128x16xf32>, tensor<16x256xf32>) -> tensor<128x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<128x256xf32>) -> tensor<128x1xf32>
  %d = graph.sub %s, %m : (tensor<128x256xf32>, tensor<128x1xf32>) -> tensor<128x256xf32>
  %y = graph.matmul %d, %v : (tensor<128x256xf32>, tensor<256x8xf32>) -> tensor<128x8xf32>
  graph.yield %y : tensor<128x8xf32>
}

// Attention with scratch memory for partial results: each block processes a part of a row's
// columns, and the last of four blocks to finish combines the partial results. Blocks find out by a
// counter which of them is the last; the first counter belongs to another use.
// CHECK-LABEL: func.func @divided(
// CHECK-SAME: memref<{{.*}}> {plan.shared}, %{{.*}}: memref<{{.*}}>, %[[COUNTERS:.*]]: memref<?xi8>) attributes {{.*}}#plan.gpu_launch<blocks = 8, {{.*}}counters = 3
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32) {
// CHECK: memref.store {{.*}} : memref<{{.*}}>
// CHECK: simt.barrier
// CHECK: simt.counter_add
// CHECK: simt.counter_add
// CHECK: simt.barrier
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32) {
// CHECK: return
plan.kernel @divided(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> (tensor<4x512xf32>, tensor<2x1x8xf32>) attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f32, online = true, splitTiles = 1, blocks = 108>} {
  %parts = graph.scratch {shape = [4, 512], of = f32} : () -> tensor<4x512xf32>
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %e = graph.exp %d : (tensor<2x1x256xf32>) -> tensor<2x1x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %parts, %y : tensor<4x512xf32>, tensor<2x1x8xf32>
}
}
