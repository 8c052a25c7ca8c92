// float32 GEMMs in TF32 by warpgroup MMA: operands are rounded when TMA loads them.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 1, limits = #limits, costs = #gpuCosts>} {

// CHECK-LABEL: func.func @rounded(
// CHECK-SAME: boxes = [#plan.tma_tile<argument = 1, bytes = 4, extents = [128, 512], strides = [512], sizes = [32, 128], rounds = true>, #plan.tma_tile<argument = 2, bytes = 4, extents = [128, 512], strides = [512], sizes = [32, 128], rounds = true>]
// CHECK-COUNT-4: nvptx.wgmma along_sum({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK: return
plan.kernel @rounded(%x: tensor<512x128xf32>, %w: tensor<128x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf32>, tensor<128x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

// float32 GEMMs use warp-level MMA if an operand is not contiguous along K, or if TMA can't load
// it.
// CHECK-LABEL: func.func @along_columns(
// CHECK-NOT: grid.group
// CHECK: simt.mma{{.*}} of f32, f32
// CHECK: return
plan.kernel @along_columns(%x: tensor<512x128xf32>, %w: tensor<128x512xf32>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf32>, tensor<128x512xf32>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

// CHECK-LABEL: func.func @odd(
// CHECK-NOT: grid.group
// CHECK: simt.mma{{.*}} of f32, f32
// CHECK: return
plan.kernel @odd(%x: tensor<512x126xf32>, %w: tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 256>} {
  %0 = graph.matmul %x, %w : (tensor<512x126xf32>, tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}
}
