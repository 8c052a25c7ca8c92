// Invalid attributes of the plan dialect, each rejected when it is parsed.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{left and right must be types of 8 or 16 bits, of equal width}}
#dot = #plan.dot_product<left = f32, right = f32, sum = f32, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{left and right must be types of 8 or 16 bits, of equal width}}
#dot = #plan.dot_product<left = i16, right = i8, sum = i32, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{left and right must be types of 8 or 16 bits, of equal width}}
#dot = #plan.dot_product<left = index, right = tuple<>, sum = i32, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{sum must be a type of 32 bits}}
#dot = #plan.dot_product<left = i8, right = i8, sum = i64, intrinsic = "llvm.some.dot">

// -----

// expected-error@+1 {{a dot product with a 16-bit sum must not accumulate}}
#dot = #plan.dot_product<left = ui8, right = i8, sum = i16, intrinsic = "llvm.some.dot", accumulates = true>

// -----

// expected-error@+1 {{issueRate must be at least 0, and is -1}}
#dot = #plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot", issueRate = -1>

// -----

// expected-error@+1 {{columns must be at least 1, and is 0}}
#matrix = #plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 0, depth = 32, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{depth must be at least 1, and is 0}}
#matrix = #plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 0, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{minRows must be at least 1, and is 0}}
#matrix = #plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 0>

// -----

// expected-error@+1 {{registers must be at least 8, four for accumulators and four for operands}}
#matrix = #plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 4, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{sum must be a type of 32 bits}}
#matrix = #plan.matrix_unit<left = bf16, right = bf16, sum = bf16, rows = 16, columns = 16, depth = 32, registers = 8, tile = f32, zero = "z", load = "l", store = "s", product = "p", relativeRate = 12, minRows = 6>

// -----

// expected-error@+1 {{l2LoadCost must be at least 0, and is -1}}
#costs = #plan.vector_costs<l2LoadCost = -1, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{attentionRows must be at least 1, and is 0}}
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 0, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{cacheLineBytes must be a power of two of at least 4}}
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 48, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{cacheLineBytes must be a power of two of at least 4}}
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 0, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>

// -----

// expected-error@+1 {{registerGranularity must be at least 1, and is 0}}
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 0, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>

// -----

// expected-error@+1 {{maxBlockThreads must be at least 256, and is 128}}
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 128, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>

// -----

// expected-error@+1 {{staticSharedBytes must be at least 0, and is -1}}
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = -1, maxArguments = 440>

// -----

// expected-error@+1 {{memoryLatencyCycles must be at least 1, and is 0}}
#costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 0, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{mmaProductsPerCycle must be at least 1, and is 0}}
#costs = #plan.gpu_costs<mmaProductsPerCycle = 0, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{warpgroupProductsPerCycle must be at least 0, and is -1}}
#costs = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = -1, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{launchCycles must be at least 0, and is -1}}
#costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = -1, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>

// -----

// expected-error@+1 {{processors must be at least 1, and is 0}}
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 0, warpSize = 32, sharedBytes = 49152, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{warpSize must be a power of two of at most 256}}
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 0, sharedBytes = 49152, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{warpSize must be a power of two of at most 256}}
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 24, sharedBytes = 49152, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{sharedBytes must be at least 0, and is -1}}
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = -1, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{mmasPerProduct must be at least 0, and is -1}}
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 49152, mmasPerProduct = -1, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{l2Bytes must be at least 0, and is -1}}
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = -1, processors = 108, warpSize = 32, sharedBytes = 49152, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{vectorBytes must be a power of two of at most 1024}}
#gpu = #plan.gpu<vectorBytes = 12, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 49152, limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>, costs = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>>

// -----

// expected-error@+1 {{vectorBytes must be a power of two of at most 1024}}
#target = #plan.cpu<vectorBytes = 0, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{vectorBytes must be a power of two of at most 1024}}
#target = #plan.cpu<vectorBytes = 48, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{vectorRegisters must be 1 to 1024}}
#target = #plan.cpu<vectorBytes = 32, vectorRegisters = -1, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{cache sizes must not be negative}}
#target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = -8, l2Bytes = 262144, l3Bytes = 0>

// -----

// expected-error@+1 {{dots must be #plan.dot_product attributes}}
#target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0, dots = [1 : i64]>

// -----

// expected-error@+1 {{matrices must be #plan.matrix_unit attributes}}
#target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 0, matrices = ["amx"]>

// -----

// expected-error@+1 {{m, n and splits must be at least 1}}
#schedule = #plan.gpu_tile<m = 0, n = 16>

// -----

// expected-error@+1 {{m, n and splits must be at least 1}}
#schedule = #plan.gpu_tile<m = 6, n = 0>

// -----

// expected-error@+1 {{m, n and splits must be at least 1}}
#schedule = #plan.gpu_tile<m = 32, n = 32, splits = 0>

// -----

// expected-error@+1 {{buffers and cycles must not be negative}}
#schedule = #plan.gpu_tile<m = 32, n = 32, buffers = -1>

// -----

// expected-error@+1 {{m must be at most 1048576, and is 1048577}}
#schedule = #plan.gpu_tile<m = 1048577, n = 32>

// -----

// expected-error@+1 {{n must be at least 1, and is 0}}
#schedule = #plan.gpu_contract<form = tiles, m = 16, n = 0>

// -----

// expected-error@+1 {{warpsM must be at least 1, and is 0}}
#schedule = #plan.gpu_contract<form = matrix, m = 32, n = 32, buffers = 2>

// -----

// expected-error@+1 {{warpsN must be at most 256, and is 257}}
#schedule = #plan.gpu_contract<form = matrix, m = 32, n = 32, buffers = 2, warpsM = 2, warpsN = 257>

// -----

// expected-error@+1 {{buffers must be at least 2, and is 1}}
#schedule = #plan.gpu_contract<form = matrix, m = 32, n = 32, buffers = 1, warpsM = 2, warpsN = 2>

// -----

// expected-error@+1 {{fetches requires groups and blocks, and blocks requires fetches}}
#schedule = #plan.gpu_contract<form = matrix, m = 64, n = 32, buffers = 2, warpsM = 4, warpsN = 1, groups = true, fetches = true>

// -----

// expected-error@+1 {{fetches requires groups and blocks, and blocks requires fetches}}
#schedule = #plan.gpu_contract<form = matrix, m = 32, n = 32, buffers = 2, warpsM = 2, warpsN = 2, fetches = true, blocks = 8>

// -----

// expected-error@+1 {{splits, buffers, warpsM, warpsN, groups, fetches and blocks require the form 'matrix'}}
#schedule = #plan.gpu_contract<form = tiles, m = 32, n = 32, splits = 2>

// -----

// expected-error@+1 {{blocks must be at least 0, and is -1}}
#schedule = #plan.gpu_contract<form = tiles, m = 32, n = 32, blocks = -1>

// -----

// expected-error@+1 {{columns must be at most 256, and is 512}}
#schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 512, factors = f32>

// -----

// expected-error@+1 {{factors must be f32, f16 or bf16}}
#schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 16, factors = f64>

// -----

// expected-error@+1 {{splitTiles and blocks must both be positive or both be 0}}
#schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 16, factors = f32, online = true, splitTiles = 2>

// -----

// expected-error@+1 {{warpsN > 1 and splitTiles require online}}
#schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 16, factors = f32, splitTiles = 2, blocks = 4>

// -----

// expected-error@+1 {{rowTiles must be 1, or 2 with online, 16-bit factors and warpsN = 1}}
#schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 16, factors = f32, online = true, rowTiles = 2>

// -----

// expected-error@+1 {{rowTiles must be 1, or 2 with online, 16-bit factors and warpsN = 1}}
#schedule = #plan.gpu_attention<warpsM = 1, warpsN = 2, columns = 16, factors = f16, online = true, rowTiles = 2>

// -----

// expected-error@+1 {{threads must be a multiple of rowThreads}}
#schedule = #plan.gpu_rows<rowThreads = 64, threads = 96>

// -----

// expected-error@+1 {{width must be 1 if rowThreads is 1}}
#schedule = #plan.gpu_rows<rowThreads = 1, threads = 96, width = 4>

// -----

// expected-error@+1 {{lineThreads must be 1 or equal to threads}}
#schedule = #plan.gpu_cumulate<lineThreads = 32, threads = 96>

// -----

// expected-error@+1 {{elements must be 1 if lineThreads is 1}}
#schedule = #plan.gpu_cumulate<lineThreads = 1, threads = 96, elements = 4>

// -----

// expected-error@+1 {{threads must be a multiple of tile, and threads / tile must divide tile}}
#schedule = #plan.gpu_transpose<tile = 32, threads = 96>

// -----

// expected-error@+1 {{threads must be a multiple of tile, and threads / tile must divide tile}}
#schedule = #plan.gpu_transpose<tile = 32, threads = 48>

// -----

// expected-error@+1 {{width must be at least 1, and is 0}}
#schedule = #plan.gpu_map<threads = 256, widths = [1, 0]>

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

// expected-error@+1 {{vectorRows, int8Slices and cycles must not be negative}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, int8Slices = -1>

// -----

// expected-error@+1 {{vectorRows requires the unit 'matrix'}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, vectorRows = 4>

// -----

// expected-error@+1 {{vectorRows must be at most 1024}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, unit = matrix, vectorRows = 4096>

// -----

// expected-error@+1 {{int8Slices requires the unit 'vectors'}}
#schedule = #plan.contract<m = 2, n = 16, lanes = 8, unit = dots, int8Slices = 3>

// -----

// expected-error@+1 {{block, stride, slots and panels must be 1 to 1048576}}
#schedule = #plan.winograd<block = 0, m = 8, n = 16, lanes = 8, stride = 16, slots = 1>

// -----

// expected-error@+1 {{block must be a multiple of m}}
#schedule = #plan.winograd<block = 12, m = 8, n = 16, lanes = 8, stride = 16, slots = 1>

// -----

// expected-error@+1 {{rows must be 1 to 4096, and slots at most as many}}
#schedule = #plan.attention<rows = 0, head = #plan.loops<map>, middle = #plan.loops<rows>, tail = #plan.loops<map>>

// -----

// expected-error@+1 {{head, middle and tail must be #plan.contract or #plan.loops}}
#schedule = #plan.attention<rows = 4, head = "fast", middle = #plan.loops<rows>, tail = #plan.loops<map>>

// -----

// expected-error@+1 {{a TMA tile must have 1 to 5 extents, as many sizes, and one stride less}}
#box = #plan.tma_tile<argument = 1, bytes = 2, extents = [64, 64], strides = [128], sizes = [64]>

// -----

// expected-error@+1 {{sizes must be at least 1}}
#box = #plan.tma_tile<argument = 1, bytes = 2, extents = [64, 64], strides = [128], sizes = [64, 0]>

// -----

// expected-error@+1 {{extents and strides must be integers or expressions}}
#box = #plan.tma_tile<argument = 1, bytes = 2, extents = [64, unit], strides = [128], sizes = [64, 8]>

// -----

// expected-error@+1 {{rounds requires elements of 4 bytes}}
#box = #plan.tma_tile<argument = 1, bytes = 2, extents = [64, 64], strides = [128], sizes = [64, 8], rounds = true>
