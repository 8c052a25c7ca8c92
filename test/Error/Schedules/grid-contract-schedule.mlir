// Schedules of contractions on a grid of threads by which no code can be made. The kernel is named.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-kernels

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and blocks of 2048 threads: they must be warps of 32, and at most 1024}}
plan.kernel @warps(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 128, n = 128, buffers = 2, warpsM = 8, warpsN = 8>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and 180224 bytes of shared memory, of which a block has 166912}}
plan.kernel @shared(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 128, n = 128, buffers = 11, warpsM = 4, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and is no contraction that is followed by elementwise ops alone: its kernel is not of one contraction, elementwise ops and moves}}
plan.kernel @contract(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = tiles, m = 64, n = 64>} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and a sum in 1 splits}}
plan.kernel @splits(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 64, n = 64, splits = 2, buffers = 2, warpsM = 2, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and is no contraction that the machine's matrix instructions multiply}}
plan.kernel @doubles(%x: tensor<128x64xf64>, %w: tensor<64x128xf64>) -> tensor<128x128xf64> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 2, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf64>, tensor<64x128xf64>) -> tensor<128x128xf64>
  graph.yield %0 : tensor<128x128xf64>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, of which m and n must be multiples of 32, and of 16 for each warp}}
plan.kernel @sides(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 48, n = 64, buffers = 2, warpsM = 1, warpsN = 2>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, of which m and n must be multiples of 32, and of 16 for each warp}}
plan.kernel @shares(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 1, warpsN = 8>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and groups of 4 warps multiply 64 rows each by all columns, up to 256, where the machine has an instruction for that}}
plan.kernel @no_groups(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and groups of 4 warps multiply 64 rows each by all columns, up to 256}}
plan.kernel @group_rows(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 128, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and operands that groups can multiply where they are fetched alone}}
plan.kernel @fetched_alone(%x: tensor<128x64xf32>, %w: tensor<64x128xf32, #graph.layout<[1, 0]>>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32, #graph.layout<[1, 0]>>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and operands of which no boxes can be fetched}}
plan.kernel @boxes(%x: tensor<128x62xf16>, %w: tensor<62x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 64, n = 64, buffers = 2, warpsM = 4, warpsN = 1, groups = true, fetches = true, blocks = 132>} {
  %0 = graph.matmul %x, %w : (tensor<128x62xf16>, tensor<62x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and 512 sums of a thread, which has 255 registers}}
plan.kernel @registers(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = matrix, m = 128, n = 64, buffers = 2, warpsM = 1, warpsN = 1>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, of which m and n must be multiples of 16 up to 128}}
plan.kernel @tiles(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = tiles, m = 64, n = 40>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, of which the few must be all that there are, and 8 at most}}
plan.kernel @few(%x: tensor<3x64xf32>, %w: tensor<64x128xf32>) -> tensor<3x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = few_rows, m = 2, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<3x64xf32>, tensor<64x128xf32>) -> tensor<3x128xf32>
  graph.yield %0 : tensor<3x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and a block takes 8 places of an operand that lies along the sum, or a part of the 32 lanes of a warp along its places}}
plan.kernel @places(%x: tensor<3x64xf32>, %w: tensor<64x128xf32>) -> tensor<3x128xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = few_rows, m = 3, n = 24>} {
  %0 = graph.matmul %x, %w : (tensor<3x64xf32>, tensor<64x128xf32>) -> tensor<3x128xf32>
  graph.yield %0 : tensor<3x128xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{, and a block takes 8 places of an operand that lies along the sum}}
plan.kernel @along_sum(%x: tensor<128x64xf32>, %w: tensor<64x3xf32>) -> tensor<128x3xf32> attributes {symbols = [], schedule = #plan.grid_contract<form = few_columns, m = 32, n = 3>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x3xf32>) -> tensor<128x3xf32>
  graph.yield %0 : tensor<128x3xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// expected-error@+1 {{@undecided has the schedule #plan.grid_tile<m = 64, n = 64>, which is not decided: hewn-decide-kernels makes a schedule of it}}
plan.kernel @undecided(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 64, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}
}
