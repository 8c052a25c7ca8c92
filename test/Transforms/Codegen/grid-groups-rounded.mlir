// Contractions of float32s of which each is one factor, by groups of warps: they are rounded when they are fetched.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.grid_limits<registers = 65536, threads = 2048, threadRegisters = 255, registerStep = 8, blockThreads = 1024, blockBytes = 1024, staticBytes = 49152, arguments = 440>
#gridCosts = #plan.grid_costs<rate = 512, groupRate = 1000, threadRate = 128, issueRate = 128, memoryRate = 1000, cacheRate = 48, sharedRate = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockCycles = 1200, sliceCycles = 150, termCycles = 50, fetchCycles = 600, tileCycles = 600, partCycles = 2500, memoryCycles = 800, threadBytes = 32, busyThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 132, warp = 32, sharedBytes = 232448, products = 1, limits = #limits, costs = #gridCosts>>} {

// CHECK-LABEL: func.func @rounded(
// CHECK-SAME: boxes = [#plan.box<argument = 1, bytes = 4, extents = [128, 512], strides = [512], sizes = [32, 128], rounds = true>, #plan.box<argument = 2, bytes = 4, extents = [128, 512], strides = [512], sizes = [32, 128], rounds = true>]
// CHECK-COUNT-4: grid.group_mma along_sum({{.*}}) * along_sum({{.*}}) + ({{.*}}) of f32, f32
// CHECK: return
plan.kernel @rounded(%x: tensor<512x128xf32>, %w: tensor<128x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf32>, tensor<128x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

// What does not lie along the sum, or can't be fetched, is multiplied by each warp on its own.
// CHECK-LABEL: func.func @along_columns(
// CHECK-NOT: grid.group
// CHECK: grid.mma{{.*}} of f32, f32
// CHECK: return
plan.kernel @along_columns(%x: tensor<512x128xf32>, %w: tensor<128x512xf32>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x128xf32>, tensor<128x512xf32>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

// CHECK-LABEL: func.func @odd(
// CHECK-NOT: grid.group
// CHECK: grid.mma{{.*}} of f32, f32
// CHECK: return
plan.kernel @odd(%x: tensor<512x126xf32>, %w: tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 128, n = 256>} {
  %0 = graph.matmul %x, %w : (tensor<512x126xf32>, tensor<126x512xf32, #graph.layout<[1, 0]>>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}
}
