// GPU contraction schedules for which no code can be emitted. The error names the kernel.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-kernels

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but blocks of 2048 threads are invalid: the number must be a multiple of the warp size 32 and at most 1024}}
plan.kernel @warps(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 128, n = 128, buffers = 2, warpsM = 8, warpsN = 8>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but needs 180224 bytes of shared memory per block; the limit is 166912}}
plan.kernel @shared(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 128, n = 128, buffers = 11, warpsM = 4, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but is not a contraction with an elementwise epilogue: its kernel has ops other than one contraction, elementwise ops and indexing ops}}
plan.kernel @contract(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = tiles, m = 64, n = 64>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but the kernel has 1 split-K partials}}
plan.kernel @splits(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, splits = 2, buffers = 2, warpsM = 2, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but the target has no matrix instruction for the contraction}}
plan.kernel @doubles(%x: tensor<128x64xf64>, %w: tensor<64x128xf64>) -> tensor<128x128xf64> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 2, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf64>, tensor<64x128xf64>) -> tensor<128x128xf64>
  graph.yield %0 : tensor<128x128xf64>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but m and n must be multiples of 32, and of 16 per warp}}
plan.kernel @sides(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 48, n = 64, buffers = 2, warpsM = 1, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but m and n must be multiples of 32, and of 16 per warp}}
plan.kernel @shares(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 1, warpsN = 8>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but a warpgroup of 4 warps multiplies 64 rows by all columns, with m and n at most 256, and the target must have warpgroup MMA}}
plan.kernel @no_groups(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but a warpgroup of 4 warps multiplies 64 rows by all columns, with m and n at most 256}}
plan.kernel @group_rows(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 128, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but warpgroup MMA on its operands requires TMA loads}}
plan.kernel @fetched_alone(%x: tensor<128x64xf32>, %w: tensor<64x128xf32, #graph.layout<[1, 0]>>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32, #graph.layout<[1, 0]>>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but its operands cannot be loaded by TMA}}
plan.kernel @boxes(%x: tensor<128x62xf16>, %w: tensor<62x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true, fetches = true, blocks = 132>} {
  %0 = graph.matmul %x, %w : (tensor<128x62xf16>, tensor<62x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but a thread needs 512 accumulators and has 255 registers}}
plan.kernel @registers(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = matrix, m = 128, n = 64, buffers = 2, warpsM = 1, warpsN = 1>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but m and n must be multiples of 16 up to 128}}
plan.kernel @tiles(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = tiles, m = 64, n = 40>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but its skinny side must have all rows or columns, and 8 at most}}
plan.kernel @few(%x: tensor<3x64xf32>, %w: tensor<64x128xf32>) -> tensor<3x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = few_rows, m = 2, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<3x64xf32>, tensor<64x128xf32>) -> tensor<3x128xf32>
  graph.yield %0 : tensor<3x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but a block takes 8 rows or columns of an operand that is contiguous along K, otherwise a divisor of the 32 lanes of a warp}}
plan.kernel @places(%x: tensor<3x64xf32>, %w: tensor<64x128xf32>) -> tensor<3x128xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = few_rows, m = 3, n = 24>} {
  %0 = graph.matmul %x, %w : (tensor<3x64xf32>, tensor<64x128xf32>) -> tensor<3x128xf32>
  graph.yield %0 : tensor<3x128xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{, but a block takes 8 rows or columns of an operand that is contiguous along K}}
plan.kernel @along_sum(%x: tensor<128x64xf32>, %w: tensor<64x3xf32>) -> tensor<128x3xf32> attributes {symbols = [], schedule = #plan.gpu_contract<form = few_columns, m = 32, n = 3>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x3xf32>) -> tensor<128x3xf32>
  graph.yield %0 : tensor<128x3xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// expected-error@+1 {{@undecided has the schedule #plan.gpu_tile<m = 64, n = 64>, which is incomplete: run hewn-assign-schedules first}}
plan.kernel @undecided(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 64, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}
