// What keeps a contraction on a grid from matrix instructions, from operands that are fetched, from tiles, and a chain from one pass over
// its columns, each reason once.
// RUN: hewn-opt %s --split-input-file --hewn-decide-kernels --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// CHECK: NotMatrix | {{.*}}Reason="it has too few rows, columns or summed elements to gain by a matrix instruction"
// CHECK: NotTiled | {{.*}}Reason="its sides or sums are so short that elements are better made one by one"
plan.kernel @short(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
// CHECK: NotMatrix | {{.*}}Reason="no matrix instruction has such operands and sums"
plan.kernel @double(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  graph.yield %0 : tensor<64x64xf64>
}
// CHECK: NotTiled | {{.*}}Reason="what follows it is not elementwise, one for one"
plan.kernel @behind(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.slice %0 {offsets = [0, 0], sizes = [32, 64], steps = array<i64: 2, 1>} : (tensor<64x64xf32>) -> tensor<32x64xf32>
  graph.yield %1 : tensor<32x64xf32>
}
// CHECK: NotTiled | {{.*}}Reason="its sum is in more splits than a grid has blocks"
plan.kernel @splits(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<2000000x64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.spread %0 {parts = 2000000} : (tensor<64x64xf32>) -> tensor<2000000x64x64xf32>
  graph.yield %1 : tensor<2000000x64x64xf32>
}
// CHECK: NotChained | {{.*}}Reason="nothing between the two contractions is reduced over its rows"
// CHECK: NotTiled | {{.*}}Reason="its kernel is not of one contraction, elementwise ops and moves"
plan.kernel @two(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.matmul %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  graph.yield %1 : tensor<64x64xf32>
}
// CHECK: NotRows | {{.*}}Reason="a result of its kernel reads it at other elements than its row's"
plan.kernel @rows(%x: tensor<16x512xf32>, %i: tensor<4xi64>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<16x512xf32>) -> tensor<16x1xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<16x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  graph.yield %1 : tensor<4x1xf32>
}
// CHECK: NotByTiles | {{.*}}Reason="the dims that it exchanges are too short for tiles"
plan.kernel @lines(%x: tensor<4x512xf32>) -> tensor<512x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x512xf32>) -> tensor<512x4xf32>
  graph.yield %0 : tensor<512x4xf32>
}
// CHECK: NotOnePass | {{.*}}Reason="rows are not reduced once to their maximum, and once to a sum of floats"
plan.kernel @maximum(%q: tensor<2x64x16xf32>, %k: tensor<2x16x256xf32>, %v: tensor<2x256x16xf32>) -> tensor<2x64x16xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x64x16xf32>, tensor<2x16x256xf32>) -> tensor<2x64x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x64x256xf32>) -> tensor<2x64x1xf32>
  %d = graph.sub %s, %m : (tensor<2x64x256xf32>, tensor<2x64x1xf32>) -> tensor<2x64x256xf32>
  %y = graph.matmul %d, %v : (tensor<2x64x256xf32>, tensor<2x256x16xf32>) -> tensor<2x64x16xf32>
  graph.yield %y : tensor<2x64x16xf32>
}
// CHECK: NotOnePass | {{.*}}Reason="what is summed is not the exponential of an element less the row's maximum"
plan.kernel @absolute(%q: tensor<2x64x16xf32>, %k: tensor<2x16x256xf32>, %v: tensor<2x256x16xf32>) -> tensor<2x64x16xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x64x16xf32>, tensor<2x16x256xf32>) -> tensor<2x64x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x64x256xf32>) -> tensor<2x64x1xf32>
  %d = graph.sub %s, %m : (tensor<2x64x256xf32>, tensor<2x64x1xf32>) -> tensor<2x64x256xf32>
  %e = graph.abs %d : (tensor<2x64x256xf32>) -> tensor<2x64x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x64x256xf32>) -> tensor<2x64x1xf32>
  %w = graph.div %e, %t : (tensor<2x64x256xf32>, tensor<2x64x1xf32>) -> tensor<2x64x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x64x256xf32>, tensor<2x256x16xf32>) -> tensor<2x64x16xf32>
  graph.yield %y : tensor<2x64x16xf32>
}
// CHECK: NotOnePass | {{.*}}Reason="weights are not the exponentials over their sum: something else is done behind the softmax"
plan.kernel @difference(%q: tensor<2x64x16xf32>, %k: tensor<2x16x256xf32>, %v: tensor<2x256x16xf32>) -> tensor<2x64x16xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x64x16xf32>, tensor<2x16x256xf32>) -> tensor<2x64x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x64x256xf32>) -> tensor<2x64x1xf32>
  %d = graph.sub %s, %m : (tensor<2x64x256xf32>, tensor<2x64x1xf32>) -> tensor<2x64x256xf32>
  %e = graph.exp %d : (tensor<2x64x256xf32>) -> tensor<2x64x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x64x256xf32>) -> tensor<2x64x1xf32>
  %w = graph.sub %e, %t : (tensor<2x64x256xf32>, tensor<2x64x1xf32>) -> tensor<2x64x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x64x256xf32>, tensor<2x256x16xf32>) -> tensor<2x64x16xf32>
  graph.yield %y : tensor<2x64x16xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 0, limits = #limits, costs = #gridCosts>>} {
// CHECK: NotMatrix | {{.*}}Reason="the machine has no matrix instruction that is to be used at this precision"
// CHECK: NotTiled | {{.*}}Reason="a sum in splits is made by matrix instructions alone"
plan.kernel @parts(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<3x64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.spread %0 {parts = 3} : (tensor<64x64xf32>) -> tensor<3x64x64xf32>
  graph.yield %1 : tensor<3x64x64xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 1024, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// CHECK: NotMatrix | {{.*}}Reason="the smallest tile of a matrix instruction has no room in shared memory"
plan.kernel @room(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  graph.yield %0 : tensor<64x64xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// CHECK: NotFetched | {{.*}}Reason="an operand is computed in the kernel, or of another type than the factors"
plan.kernel @computed(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf16> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<512x512xf16>) -> tensor<512x512xf16>
  %1 = graph.matmul %0, %w : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  graph.yield %1 : tensor<512x512xf16>
}
// CHECK: NotFetched | {{.*}}Reason="an operand's places and sum are not evenly spaced dims of one tensor, 16 bytes apart or a multiple"
plan.kernel @spaced(%x: tensor<512x508xf16>, %w: tensor<508x512xf16>) -> tensor<512x512xf16> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<512x508xf16>, tensor<508x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}
// CHECK: NotFetched | {{.*}}Reason="an operand does not lie along the sum, as the instruction has it"
plan.kernel @bytes(%x: tensor<512x512xi8>, %w: tensor<512x512xi8>) -> tensor<512x512xi32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<512x512xi8>, tensor<512x512xi8>) -> tensor<512x512xi32>
  graph.yield %0 : tensor<512x512xi32>
}
}
