// float32 GEMMs as a TF32 hi/lo split (3xTF32) by warpgroup MMA: a warpgroup splits the right
// operand after the TMA load, each warp splits its rows of the left operand in registers.
// RUN: hewn-opt %s --hewn-select-gpu-tiles | FileCheck %s --check-prefix=CHOOSE
// RUN: hewn-opt %s --hewn-select-gpu-tiles --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 640, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {

// TMA loads the operands without rounding. For each K-slice of 32 elements, the MMAs are four K
// steps of hi times hi with accumulators that start at zero, interleaved with two K steps each of
// lo times hi and hi times lo.
// CHOOSE: plan.kernel @split({{.*}} {schedule = #plan.gpu_tile<m = 128, n = 128, cycles = {{[0-9]+}}>, symbols = []}
// CHECK-LABEL: func.func @split(
// CHECK-SAME: boxes = [#plan.tma_tile<argument = 1, bytes = 4, extents = [512, 2048], strides = [2048], sizes = [32, 128]>, #plan.tma_tile<argument = 2, bytes = 4, extents = [512, 2048], strides = [2048], sizes = [32, 128]>]
// CHECK: nvptx.setmaxnreg {{.*}} grows
// CHECK: simt.mbarrier_wait
// CHECK-COUNT-4: simt.ldmatrix %
// CHECK: simt.mbarrier_wait
// CHECK: nvptx.wgmma_fence
// CHECK-COUNT-4: nvptx.wgmma registers({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK-NEXT: nvptx.wgmma_commit_group
// CHECK-COUNT-4: nvptx.wgmma registers({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK-NEXT: nvptx.wgmma_commit_group
// CHECK-NEXT: nvptx.wgmma_wait_group 1,
// CHECK-COUNT-16: arith.addf
// CHECK: nvptx.wgmma_fence
// CHECK-COUNT-4: nvptx.wgmma registers({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK: nvptx.wgmma_commit_group
// CHECK-COUNT-4: nvptx.wgmma registers({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK-COUNT-8: nvptx.wgmma registers({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK-NOT: nvptx.wgmma{{ }}
// CHECK: nvptx.wgmma_wait_group
// CHECK: simt.mbarrier_arrive %
// CHECK: nvptx.tma_load
// CHECK: simt.mbarrier_wait
// CHECK: vector.load
// CHECK-COUNT-2: vector.store
// CHECK: nvptx.fence_proxy_async
// CHECK: simt.warp_barrier
// CHECK: simt.mbarrier_arrive %
// CHECK: return
plan.kernel @split(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2048x512xf32>, tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32>
  graph.yield %0 : tensor<2048x2048xf32>
}

// No warpgroup MMA for operands that TMA can't load, and for tiles with few rows.
// CHOOSE: plan.kernel @computed({{.*}} groups = false, cycles = {{[0-9]+}}>
// CHECK-LABEL: func.func @computed(
// CHECK-NOT: grid.group
// CHECK: return
plan.kernel @computed(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %1 = graph.matmul %0, %w : (tensor<2048x512xf32>, tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32>
  graph.yield %1 : tensor<2048x2048xf32>
}

// If a schedule requires warpgroups and they are not possible, the warp-level tile has no more
// columns than fit the registers.
// CHECK-LABEL: func.func @odd(
// CHECK-NOT: grid.group
// CHECK: return
plan.kernel @odd(%x: tensor<512x126xf32>, %w: tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x126xf32>, tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}
}
