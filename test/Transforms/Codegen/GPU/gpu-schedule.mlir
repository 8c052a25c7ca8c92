// The code follows a hand-written GPU schedule.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// CHECK-LABEL: func.func @map(
// CHECK-SAME: threads = 64,
// CHECK: vector.load {{.*}} vector<2xf32>
// CHECK-NOT: vector.load
plan.kernel @map(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_map<threads = 64, widths = [2]>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}

// CHECK-LABEL: func.func @rows_by_warps(
// CHECK-SAME: threads = 128,
// CHECK-NOT: simt.barrier
// CHECK: simt.shuffle_xor
// CHECK-NOT: vector.load
// CHECK: return
plan.kernel @rows_by_warps(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {symbols = [], schedule = #plan.gpu_rows<rowThreads = 32, threads = 128>} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x2048xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x2048xf32>, tensor<64x1xf32>) -> tensor<64x2048xf32>
  graph.yield %1 : tensor<64x2048xf32>
}

// CHECK-LABEL: func.func @rows_by_blocks(
// CHECK-SAME: threads = 512,
// CHECK: vector.load {{.*}} vector<2xf32>
// CHECK: simt.barrier
// CHECK: return
plan.kernel @rows_by_blocks(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {symbols = [], schedule = #plan.gpu_rows<rowThreads = 512, threads = 512, width = 2>} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x2048xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x2048xf32>, tensor<64x1xf32>) -> tensor<64x2048xf32>
  graph.yield %1 : tensor<64x2048xf32>
}

// By this schedule of a row-wise kernel, eight lanes of a warp process a row, and combine their
// partial results in three steps.
// CHECK-LABEL: func.func @rows_by_lanes(
// CHECK-SAME: threads = 64,
// CHECK-COUNT-3: simt.shuffle_xor
// CHECK-NOT: simt.shuffle_xor
// CHECK: return
plan.kernel @rows_by_lanes(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {symbols = [], schedule = #plan.gpu_rows<rowThreads = 8, threads = 64>} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x2048xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x2048xf32>, tensor<64x1xf32>) -> tensor<64x2048xf32>
  graph.yield %1 : tensor<64x2048xf32>
}

// CHECK-LABEL: func.func @line_by_thread(
// CHECK-SAME: threads = 32,
// CHECK-NOT: simt.barrier
// CHECK: return
plan.kernel @line_by_thread(%x: tensor<3x5000xf32>) -> tensor<3x5000xf32> attributes {symbols = [], schedule = #plan.gpu_cumulate<lineThreads = 1, threads = 32>} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<3x5000xf32>) -> tensor<3x5000xf32>
  graph.yield %0 : tensor<3x5000xf32>
}

// CHECK-LABEL: func.func @line_by_block(
// CHECK-SAME: threads = 64,
// CHECK: arith.constant 128 : index
// CHECK: simt.barrier
// CHECK: return
plan.kernel @line_by_block(%x: tensor<3x5000xf32>) -> tensor<3x5000xf32> attributes {symbols = [], schedule = #plan.gpu_cumulate<lineThreads = 64, threads = 64, elements = 2>} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<3x5000xf32>) -> tensor<3x5000xf32>
  graph.yield %0 : tensor<3x5000xf32>
}

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME: threads = 64,
// CHECK: memref<272xf32, 3>
// CHECK: return
plan.kernel @transpose(%x: tensor<64x256xf32>) -> tensor<256x64xf32> attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 16, threads = 64>} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  graph.yield %0 : tensor<256x64xf32>
}

// The hand-written schedule computes a GEMM by FMA, although MMA is possible. A block computes a
// tile of 32 by 16, and the launch has four by eight blocks.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: #plan.gpu_launch<blocks = 32,
// CHECK-SAME: threads = 256,
// CHECK-NOT: simt.mma
// CHECK: return
plan.kernel @tiles(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = tiles, m = 32, n = 16>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// CHECK-LABEL: func.func @matrix(
// CHECK-SAME: #plan.gpu_launch<blocks = 8,
// CHECK-SAME: threads = 64,
// CHECK: memref<3072xf32, 3>
// CHECK: simt.mma
// CHECK: return
plan.kernel @matrix(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 32, buffers = 3, warpsM = 2, warpsN = 1>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// CHECK-LABEL: func.func @few_rows(
// CHECK-SAME: #plan.gpu_launch<blocks = 16,
// CHECK: return
plan.kernel @few_rows(%x: tensor<3x64xf32>, %w: tensor<64x128xf32>) -> tensor<3x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = few_rows, m = 3, n = 8>} {
  %0 = graph.matmul %x, %w : (tensor<3x64xf32>, tensor<64x128xf32>) -> tensor<3x128xf32>
  graph.yield %0 : tensor<3x128xf32>
}

// CHECK-LABEL: func.func @few_columns(
// CHECK-SAME: #plan.gpu_launch<blocks = 8,
// CHECK: return
plan.kernel @few_columns(%x: tensor<128x64xf32, #graph.layout<[1, 0]>>, %w: tensor<64x2xf32>) -> tensor<128x2xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = few_columns, m = 16, n = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32, #graph.layout<[1, 0]>>, tensor<64x2xf32>) -> tensor<128x2xf32>
  graph.yield %0 : tensor<128x2xf32>
}

// By this schedule of fused attention, two warps process eight columns each, in the order of the
// MMA fragments, and a softmax that could be computed online takes several passes.
// CHECK-LABEL: func.func @online(
// CHECK-SAME: threads = 64,
// CHECK: math.exp
// CHECK: return
plan.kernel @online(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 2, columns = 8, factors = f32, online = true>} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %e = graph.exp %d : (tensor<2x1x256xf32>) -> tensor<2x1x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}

// CHECK-LABEL: func.func @passes(
// CHECK-SAME: threads = 32,
// CHECK: scf.for {{.*}} -> (f32, f32) {
// CHECK: scf.for {{.*}} -> (f32, f32) {
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32) {
// CHECK: return
plan.kernel @passes(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 16, factors = f32>} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %e = graph.exp %d : (tensor<2x1x256xf32>) -> tensor<2x1x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}

// The hand-written schedule splits the columns of attention over two blocks, although the cost
// model would use one: the pass adds the scratch memory for the partial results.
// CHECK-LABEL: func.func @split(
// CHECK-SAME: #plan.gpu_launch<blocks = 4, {{.*}}counters = 3
// CHECK: simt.counter_add
// CHECK: return
plan.kernel @split(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f32, online = true, splitTiles = 2, blocks = 4>} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %e = graph.exp %d : (tensor<2x1x256xf32>) -> tensor<2x1x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}

}
