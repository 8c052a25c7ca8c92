// RUN: hewn-opt %s --hewn-lower-kernels --verify-diagnostics

// No pass emits split components for a GPU, but hand-written text can contain them.
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 1, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{a contraction of split-bf16 components has no GPU kernel}}
plan.kernel @k(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w, %x, %w {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}
}
