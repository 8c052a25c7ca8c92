// Contractions of float32s of which each is the sum of two factors, by groups of warps: a group splits the right ones that were
// fetched, each warp its rows' left ones in registers.
// RUN: hewn-opt %s --hewn-choose-tiles | FileCheck %s --check-prefix=CHOOSE
// RUN: hewn-opt %s --hewn-choose-tiles --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 640, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {

// Fetched as they are, not rounded. Four steps of first times first factors, of 32 columns at a time, whose sums begin as zeros; beside
// the first two of these parts two steps each of second times first factors, and first times second.
// CHOOSE: plan.kernel @split({{.*}} {schedule = #plan.grid_tile<m = 128, n = 128, cycles = {{[0-9]+}}>, symbols = []}
// CHECK-LABEL: func.func @split(
// CHECK-SAME: boxes = [#plan.box<argument = 1, bytes = 4, extents = [512, 2048], strides = [2048], sizes = [32, 128]>, #plan.box<argument = 2, bytes = 4, extents = [512, 2048], strides = [2048], sizes = [32, 128]>]
// CHECK: nvptx.setmaxnreg {{.*}} grows
// CHECK: grid.mbarrier_wait
// CHECK-COUNT-4: grid.ldmatrix %
// CHECK: grid.mbarrier_wait
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
// CHECK: grid.mbarrier_arrive %
// CHECK: nvptx.tma_load
// CHECK: grid.mbarrier_wait
// CHECK: vector.load
// CHECK-COUNT-2: vector.store
// CHECK: nvptx.fence_proxy_async
// CHECK: grid.warp_barrier
// CHECK: grid.mbarrier_arrive %
// CHECK: return
plan.kernel @split(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2048x512xf32>, tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32>
  graph.yield %0 : tensor<2048x2048xf32>
}

// What can't be fetched is not chosen for groups; nor what has few rows to a tile.
// CHOOSE: plan.kernel @computed({{.*}} groups = false, cycles = {{[0-9]+}}>
// CHECK-LABEL: func.func @computed(
// CHECK-NOT: grid.group
// CHECK: return
plan.kernel @computed(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %1 = graph.matmul %0, %w : (tensor<2048x512xf32>, tensor<512x2048xf32, #graph.layout<[1, 0]>>) -> tensor<2048x2048xf32>
  graph.yield %1 : tensor<2048x2048xf32>
}

// Where a schedule wants groups and they can't, warps have no more columns than registers.
// CHECK-LABEL: func.func @odd(
// CHECK-NOT: grid.group
// CHECK: return
plan.kernel @odd(%x: tensor<512x126xf32>, %w: tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x126xf32>, tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}
}
