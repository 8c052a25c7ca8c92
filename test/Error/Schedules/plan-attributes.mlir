// What attributes of the dialect plan may not say, each refused where it is read.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{left and right must be types of 8 or 16 bits, both alike}}
#dot = #plan.dot<left = f32, right = f32, sum = f32, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{left and right must be types of 8 or 16 bits, both alike}}
#dot = #plan.dot<left = i16, right = i8, sum = i32, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{left and right must be types of 8 or 16 bits, both alike}}
#dot = #plan.dot<left = index, right = tuple<>, sum = i32, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{sum must be a type of 32 bits}}
#dot = #plan.dot<left = i8, right = i8, sum = i64, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{sums of 16 bits are of two products, and of nothing that was before}}
#dot = #plan.dot<left = ui8, right = i8, sum = i16, intrinsic = "llvm.some.dot", accumulates = true>

// -----

// expected-error@+1 {{columns must be at least 1, and is 0}}
#matrix = #plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 0, depth = 32, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{depth must be at least 1, and is 0}}
#matrix = #plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 0, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{minRows must be at least 1, and is 0}}
#matrix = #plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 0>

// -----

// expected-error@+1 {{registers must be at least 8, four for sums and as many for what is multiplied}}
#matrix = #plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 4, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{sum must be a type of 32 bits}}
#matrix = #plan.matrix<left = bf16, right = bf16, sum = bf16, rows = 16, columns = 16, depth = 32, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{l2LoadCost must be at least 0, and is -1}}
#costs = #plan.vector_costs<l2LoadCost = -1, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{chainRows must be at least 1, and is 0}}
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 0, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{cacheLineBytes must be a power of two of at least 4}}
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 48, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{cacheLineBytes must be a power of two of at least 4}}
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 0, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{registerGranularity must be at least 1, and is 0}}
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 0, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>

// -----

// expected-error@+1 {{maxBlockThreads must be at least 256, and is 128}}
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 128, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>

// -----

// expected-error@+1 {{staticSharedBytes must be at least 0, and is -1}}
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = -1, maxArguments = 440>

// -----

// expected-error@+1 {{memoryLatencyCycles must be at least 1, and is 0}}
#costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 0, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{mmaProductsPerCycle must be at least 1, and is 0}}
#costs = #plan.grid_costs<mmaProductsPerCycle = 0, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{warpgroupProductsPerCycle must be at least 0, and is -1}}
#costs = #plan.grid_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = -1, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{launchCycles must be at least 0, and is -1}}
#costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = -1, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{processors must be at least 1, and is 0}}
#grid = #plan.grid<processors = 0, warpSize = 32, sharedBytes = 49152, limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{warpSize must be a power of two of at most 256}}
#grid = #plan.grid<processors = 108, warpSize = 0, sharedBytes = 49152, limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{warpSize must be a power of two of at most 256}}
#grid = #plan.grid<processors = 108, warpSize = 24, sharedBytes = 49152, limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{sharedBytes must be at least 0, and is -1}}
#grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = -1, limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{mmasPerProduct must be at least 0, and is -1}}
#grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 49152, mmasPerProduct = -1, limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{vectorBytes must be a power of two of at most 1024}}
#target = #plan.target<vectorBytes = 0, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{vectorBytes must be a power of two of at most 1024}}
#target = #plan.target<vectorBytes = 48, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{vectorRegisters must be 1 to 1024}}
#target = #plan.target<vectorBytes = 32, vectorRegisters = -1, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{sizes of caches must not be negative}}
#target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = -8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{dots must be #plan.dot attributes}}
#target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0, dots = [1 : i64]>

// -----

// expected-error@+1 {{matrices must be #plan.matrix attributes}}
#target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0, matrices = ["amx"]>

// -----

// expected-error@+1 {{m, n and splits must be at least 1}}
#schedule = #plan.grid_tile<m = 0, n = 16>

// -----

// expected-error@+1 {{m, n and splits must be at least 1}}
#schedule = #plan.grid_tile<m = 6, n = 0>

// -----

// expected-error@+1 {{m, n and splits must be at least 1}}
#schedule = #plan.grid_tile<m = 32, n = 32, splits = 0>

// -----

// expected-error@+1 {{buffers and cycles must not be negative}}
#schedule = #plan.grid_tile<m = 32, n = 32, buffers = -1>

// -----

// expected-error@+1 {{m must be at most 1048576, and is 1048577}}
#schedule = #plan.grid_tile<m = 1048577, n = 32>

// -----

// expected-error@+1 {{n must be at least 1, and is 0}}
#schedule = #plan.grid_contract<form = tiles, m = 16, n = 0>

// -----

// expected-error@+1 {{warpsM must be at least 1, and is 0}}
#schedule = #plan.grid_contract<form = matrix, m = 32, n = 32, buffers = 2>

// -----

// expected-error@+1 {{warpsN must be at most 256, and is 257}}
#schedule = #plan.grid_contract<form = matrix, m = 32, n = 32, buffers = 2, warpsM = 2, warpsN = 257>

// -----

// expected-error@+1 {{buffers must be at least 2, and is 1}}
#schedule = #plan.grid_contract<form = matrix, m = 32, n = 32, buffers = 1, warpsM = 2, warpsN = 2>

// -----

// expected-error@+1 {{a grid_contract that fetches is of groups, and of so many blocks; others are not}}
#schedule = #plan.grid_contract<form = matrix, m = 64, n = 32, buffers = 2, warpsM = 4, warpsN = 1, groups = true, fetches = true>

// -----

// expected-error@+1 {{a grid_contract that fetches is of groups, and of so many blocks; others are not}}
#schedule = #plan.grid_contract<form = matrix, m = 32, n = 32, buffers = 2, warpsM = 2, warpsN = 2, fetches = true, blocks = 8>

// -----

// expected-error@+1 {{splits, buffers, warpsM, warpsN, groups, fetches and blocks are those of the form matrix}}
#schedule = #plan.grid_contract<form = tiles, m = 32, n = 32, splits = 2>

// -----

// expected-error@+1 {{blocks must be at least 0, and is -1}}
#schedule = #plan.grid_contract<form = tiles, m = 32, n = 32, blocks = -1>

// -----

// expected-error@+1 {{columns must be at most 256, and is 512}}
#schedule = #plan.grid_chain<warpsM = 1, warpsN = 1, columns = 512, factors = f32>

// -----

// expected-error@+1 {{factors must be f32, f16 or bf16}}
#schedule = #plan.grid_chain<warpsM = 1, warpsN = 1, columns = 16, factors = f64>

// -----

// expected-error@+1 {{splitTiles and blocks are given both, or none of them}}
#schedule = #plan.grid_chain<warpsM = 1, warpsN = 1, columns = 16, factors = f32, online = true, splitTiles = 2>

// -----

// expected-error@+1 {{only rows that are made online share their columns between warps, or blocks}}
#schedule = #plan.grid_chain<warpsM = 1, warpsN = 1, columns = 16, factors = f32, splitTiles = 2, blocks = 4>

// -----

// expected-error@+1 {{rowTiles is 1, or 2 where rows of narrow factors are made online, by a warp each}}
#schedule = #plan.grid_chain<warpsM = 1, warpsN = 1, columns = 16, factors = f32, online = true, rowTiles = 2>

// -----

// expected-error@+1 {{rowTiles is 1, or 2 where rows of narrow factors are made online, by a warp each}}
#schedule = #plan.grid_chain<warpsM = 1, warpsN = 2, columns = 16, factors = f16, online = true, rowTiles = 2>

// -----

// expected-error@+1 {{threads must be a multiple of rowThreads}}
#schedule = #plan.grid_rows<rowThreads = 64, threads = 96>

// -----

// expected-error@+1 {{rows of one thread each are read one element at a time}}
#schedule = #plan.grid_rows<rowThreads = 1, threads = 96, width = 4>

// -----

// expected-error@+1 {{a line is one thread's, or all threads' of a block}}
#schedule = #plan.grid_cumulate<lineThreads = 32, threads = 96>

// -----

// expected-error@+1 {{lines of one thread each are swept one element at a time}}
#schedule = #plan.grid_cumulate<lineThreads = 1, threads = 96, elements = 4>

// -----

// expected-error@+1 {{threads must be whole lines of a tile, of which a tile has whole numbers}}
#schedule = #plan.grid_transpose<tile = 32, threads = 96>

// -----

// expected-error@+1 {{threads must be whole lines of a tile, of which a tile has whole numbers}}
#schedule = #plan.grid_transpose<tile = 32, threads = 48>

// -----

// expected-error@+1 {{width must be at least 1, and is 0}}
#schedule = #plan.grid_map<threads = 256, widths = [1, 0]>

// -----

// expected-error@+1 {{m, n and lanes must be at least 1}}
#schedule = #plan.contract<m = 0, n = 16, lanes = 8>

// -----

// expected-error@+1 {{a tile of 2 by 12: n must be a multiple of 8 lanes, and there may be 1024 accumulators at most}}
#schedule = #plan.contract<m = 2, n = 12, lanes = 8>

// -----

// expected-error@+1 {{a tile of 1048576 by 1048576: n must be a multiple of 8 lanes}}
#schedule = #plan.contract<m = 1048576, n = 1048576, lanes = 8>

// -----

// expected-error@+1 {{vectorRows, limbs and cycles must not be negative}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, limbs = -1>

// -----

// expected-error@+1 {{vectorRows are those of a kernel whose unit is matrix}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, vectorRows = 4>

// -----

// expected-error@+1 {{vectorRows must be at most 1024}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, unit = matrix, vectorRows = 4096>

// -----

// expected-error@+1 {{limbs are multiplied by vectors}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, unit = dots, limbs = 3>

// -----

// expected-error@+1 {{block, stride, slots and panels must be 1 to 1048576}}
#schedule = #plan.winograd<block = 0, m = 8, n = 16, lanes = 8, stride = 16, slots = 1>

// -----

// expected-error@+1 {{block must be a multiple of m}}
#schedule = #plan.winograd<block = 12, m = 8, n = 16, lanes = 8, stride = 16, slots = 1>

// -----

// expected-error@+1 {{rows must be 1 to 4096, and slots at most as many}}
#schedule = #plan.chain<rows = 0, head = #plan.loops<map>, middle = #plan.loops<rows>, tail = #plan.loops<map>>

// -----

// expected-error@+1 {{head, middle and tail must be #plan.contract or #plan.loops}}
#schedule = #plan.chain<rows = 4, head = "fast", middle = #plan.loops<rows>, tail = #plan.loops<map>>

// -----

// expected-error@+1 {{a box has 1 to 5 extents, as many sizes, and strides of all but one}}
#box = #plan.box<argument = 1, bytes = 2, extents = [64, 64], strides = [128], sizes = [64]>

// -----

// expected-error@+1 {{sizes must be at least 1}}
#box = #plan.box<argument = 1, bytes = 2, extents = [64, 64], strides = [128], sizes = [64, 0]>

// -----

// expected-error@+1 {{extents and strides must be integers or expressions}}
#box = #plan.box<argument = 1, bytes = 2, extents = [64, unit], strides = [128], sizes = [64, 8]>

// -----

// expected-error@+1 {{only float32s are rounded}}
#box = #plan.box<argument = 1, bytes = 2, extents = [64, 64], strides = [128], sizes = [64, 8], rounds = true>
