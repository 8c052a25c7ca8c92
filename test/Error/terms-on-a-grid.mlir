// RUN: hewn-opt %s --hewn-lower-kernels --verify-diagnostics

// Nothing makes them for such a machine, but a text can have them.
#limits = #plan.grid_limits<registers = 65536, threads = 2048, threadRegisters = 255, registerStep = 8, blockThreads = 1024, blockBytes = 1024, staticBytes = 49152, arguments = 440>
#gridCosts = #plan.grid_costs<rate = 512, threadRate = 128, issueRate = 128, memoryRate = 1000, cacheRate = 48, sharedRate = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockCycles = 1200, sliceCycles = 150, termCycles = 50, fetchCycles = 600, tileCycles = 600, partCycles = 2500, memoryCycles = 800, threadBytes = 32, busyThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912, products = 1, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{sums products of terms, for which there is no code on a grid of threads}}
plan.kernel @k(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w, %x, %w {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}
}
