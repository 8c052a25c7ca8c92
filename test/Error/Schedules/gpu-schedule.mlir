// GPU schedules for which no code can be emitted. The error names the kernel.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-kernels

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{@vectors has the schedule #plan.loops<map>, which is for another kind of target}}
plan.kernel @vectors(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.loops<map>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{of_threads has the schedule #plan.gpu_map<threads = 48, widths = [1]>, but blocks of 48 threads are invalid: the number must be a multiple of the warp size 32 and at most 1024}}
plan.kernel @of_threads(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_map<threads = 48, widths = [1]>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but blocks of 1536 threads are invalid: the number must be a multiple of the warp size 32}}
plan.kernel @warps(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 48, columns = 8, factors = f32, online = true>} {
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

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{@widths has the schedule #plan.gpu_map<threads = 256, widths = [1, 1]>, but the kernel has results of 1 different shapes}}
plan.kernel @widths(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_map<threads = 256, widths = [1, 1]>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

// Invalid schedule: a vector of eight float32 values exceeds the 16 bytes of a GPU load.
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but vectors of 8 elements are not contiguous and aligned}}
plan.kernel @wide(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_map<threads = 256, widths = [8]>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{: it has several results, or one with a blocked layout}}
plan.kernel @several(%x: tensor<64x256xf32>) -> (tensor<256x64xf32>, tensor<256x64xf32>) attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 32, threads = 256>} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %1 = graph.relu %0 : (tensor<256x64xf32>) -> tensor<256x64xf32>
  graph.yield %0, %1 : tensor<256x64xf32>, tensor<256x64xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{: it has ops other than elementwise and indexing ops}}
plan.kernel @sums(%x: tensor<64x256xf32>) -> tensor<64x1xf32> attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 32, threads = 256>} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<64x256xf32>) -> tensor<64x1xf32>
  graph.yield %0 : tensor<64x1xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{: its result has no contiguous dim}}
plan.kernel @one(%x: tensor<1x1xf32>) -> tensor<1x1xf32> attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 32, threads = 256>} {
  %0 = graph.relu %x : (tensor<1x1xf32>) -> tensor<1x1xf32>
  graph.yield %0 : tensor<1x1xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{: it transposes several inputs, or reads the transposed input at computed indices}}
plan.kernel @two(%x: tensor<64x256xf32>, %z: tensor<64x256xf32>) -> tensor<256x64xf32> attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 32, threads = 256>} {
  %0 = graph.add %x, %z : (tensor<64x256xf32>, tensor<64x256xf32>) -> tensor<64x256xf32>
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  graph.yield %1 : tensor<256x64xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{: it reads an input at several indices or conditionally}}
plan.kernel @several_places(%x: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 32, threads = 256>} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.slice %0 {offsets = [0, 0], sizes = [64, 64], steps = array<i64: 1, 1>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = graph.add %1, %x : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  graph.yield %2 : tensor<64x64xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{: no input is contiguous along another dim than the result}}
plan.kernel @transpose(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_transpose<tile = 32, threads = 256>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but the kernel is not one prefix scan}}
plan.kernel @cumulate(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_cumulate<lineThreads = 1, threads = 256>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but the kernel has no row-wise reductions}}
plan.kernel @rows(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_rows<rowThreads = 32, threads = 256>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but the threads per row must be a power of two up to a warp, or all threads of a block}}
plan.kernel @row_threads(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {symbols = [], schedule = #plan.gpu_rows<rowThreads = 64, threads = 256>} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x2048xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x2048xf32>, tensor<64x1xf32>) -> tensor<64x2048xf32>
  graph.yield %1 : tensor<64x2048xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but rows are not contiguous and aligned in vectors of 4 elements}}
plan.kernel @width(%x: tensor<64x2047xf32>) -> tensor<64x2047xf32> attributes {symbols = [], schedule = #plan.gpu_rows<rowThreads = 32, threads = 256, width = 4>} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x2047xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x2047xf32>, tensor<64x1xf32>) -> tensor<64x2047xf32>
  graph.yield %1 : tensor<64x2047xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but is not fused attention that fits a block: fused attention has two contractions, and there are fewer}}
plan.kernel @chain(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 16, factors = f32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but its operands do not have the type `factors`}}
plan.kernel @factors(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f16, online = true>} {
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

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but columns must be a multiple of 16}}
plan.kernel @columns(%q: tensor<2x1x16xf16>, %k: tensor<2x16x256xf16, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf16>) -> tensor<2x1x8xf16> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 8, factors = f16, online = true>} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf16>, tensor<2x16x256xf16, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf16>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf16>) -> tensor<2x1x1xf16>
  %d = graph.sub %s, %m : (tensor<2x1x256xf16>, tensor<2x1x1xf16>) -> tensor<2x1x256xf16>
  %e = graph.exp %d : (tensor<2x1x256xf16>) -> tensor<2x1x256xf16>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf16>) -> tensor<2x1x1xf16>
  %w = graph.div %e, %t : (tensor<2x1x256xf16>, tensor<2x1x1xf16>) -> tensor<2x1x256xf16>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf16>, tensor<2x256x8xf16>) -> tensor<2x1x8xf16>
  graph.yield %y : tensor<2x1x8xf16>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but its rows need more than one pass: the row-wise ops are not one maximum and one sum in float32}}
plan.kernel @online(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f32, online = true>} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %d, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{@memory has a schedule that needs scratch memory of [4, 512] float32s, but the kernel does not have it}}
plan.kernel @memory(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = [], schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f32, online = true, splitTiles = 1, blocks = 108>} {
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
