// Reasons why a GPU contraction uses no matrix instructions, no TMA loads or no tiles, and why
// attention needs several passes over its columns; each reason once.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// CHECK: NotMatrix | {{.*}}Reason="M, N or K is too small to gain from MMA"
// CHECK: NotTiled | {{.*}}Reason="M, N or K is too small for tiles: each thread computes single elements"
plan.kernel @short(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
// CHECK: NotMatrix | {{.*}}Reason="no MMA has these operand and accumulator types"
plan.kernel @double(%x: tensor<64x64xf64>, %w: tensor<64x64xf64>) -> tensor<64x64xf64> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf64>, tensor<64x64xf64>) -> tensor<64x64xf64>
  graph.yield %0 : tensor<64x64xf64>
}
// CHECK: NotTiled | {{.*}}Reason="an op of its epilogue is not elementwise or has other dims than the result"
plan.kernel @behind(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.slice %0 {offsets = [0, 0], sizes = [32, 64], steps = array<i64: 2, 1>} : (tensor<64x64xf32>) -> tensor<32x64xf32>
  graph.yield %1 : tensor<32x64xf32>
}
// CHECK: NotTiled | {{.*}}Reason="it has more split-K partials than a launch can have blocks"
plan.kernel @splits(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<2000000x64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.spread %0 {parts = 2000000} : (tensor<64x64xf32>) -> tensor<2000000x64x64xf32>
  graph.yield %1 : tensor<2000000x64x64xf32>
}
// CHECK: NotChained | {{.*}}Reason="there is no row-wise reduction between the two contractions"
// CHECK: NotTiled | {{.*}}Reason="its kernel has ops other than one contraction, elementwise ops and indexing ops"
plan.kernel @two(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.matmul %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  graph.yield %1 : tensor<64x64xf32>
}
// CHECK: NotRows | {{.*}}Reason="a result of the kernel reads the reduction of another row"
plan.kernel @rows(%x: tensor<16x512xf32>, %i: tensor<4xi64>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<16x512xf32>) -> tensor<16x1xf32>
  %1 = graph.gather %0, %i {axis = 0} : (tensor<16x1xf32>, tensor<4xi64>) -> tensor<4x1xf32>
  graph.yield %1 : tensor<4x1xf32>
}
// CHECK: NotByTiles | {{.*}}Reason="the transposed dims are too short for tiles in shared memory"
plan.kernel @lines(%x: tensor<4x512xf32>) -> tensor<512x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x512xf32>) -> tensor<512x4xf32>
  graph.yield %0 : tensor<512x4xf32>
}
// CHECK: NotOnePass | {{.*}}Reason="the row-wise ops are not one maximum and one sum in float32"
plan.kernel @maximum(%q: tensor<2x64x16xf32>, %k: tensor<2x16x256xf32>, %v: tensor<2x256x16xf32>) -> tensor<2x64x16xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x64x16xf32>, tensor<2x16x256xf32>) -> tensor<2x64x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x64x256xf32>) -> tensor<2x64x1xf32>
  %d = graph.sub %s, %m : (tensor<2x64x256xf32>, tensor<2x64x1xf32>) -> tensor<2x64x256xf32>
  %y = graph.matmul %d, %v : (tensor<2x64x256xf32>, tensor<2x256x16xf32>) -> tensor<2x64x16xf32>
  graph.yield %y : tensor<2x64x16xf32>
}
// CHECK: NotOnePass | {{.*}}Reason="the summed elements are not exp(x - the row's maximum)"
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
// CHECK: NotOnePass | {{.*}}Reason="the weights are not the exponentials divided by their sum: another op follows the softmax"
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

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 0, limits = #limits, costs = #gpuCosts>} {
// CHECK: NotMatrix | {{.*}}Reason="the target has no MMA for this precision"
// CHECK: NotTiled | {{.*}}Reason="split-K needs matrix instructions"
plan.kernel @parts(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<3x64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.spread %0 {parts = 3} : (tensor<64x64xf32>) -> tensor<3x64x64xf32>
  graph.yield %1 : tensor<3x64x64xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 1024, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// CHECK: NotMatrix | {{.*}}Reason="the smallest tile for matrix instructions does not fit shared memory"
plan.kernel @room(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  graph.yield %0 : tensor<64x64xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// CHECK: NotFetched | {{.*}}Reason="an operand is computed in the kernel, or its type is not the operand type of the MMA"
plan.kernel @computed(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf16> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<512x512xf16>) -> tensor<512x512xf16>
  %1 = graph.matmul %0, %w : (tensor<512x512xf16>, tensor<512x512xf16>) -> tensor<512x512xf16>
  graph.yield %1 : tensor<512x512xf16>
}
// CHECK: NotFetched | {{.*}}Reason="an operand's dims do not collapse to rows, K and batch with strides that are multiples of 16 bytes"
plan.kernel @spaced(%x: tensor<512x508xf16>, %w: tensor<508x512xf16>) -> tensor<512x512xf16> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<512x508xf16>, tensor<508x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}
// CHECK: NotFetched | {{.*}}Reason="an operand is not contiguous along K, as the instruction requires for its type"
plan.kernel @bytes(%x: tensor<512x512xi8>, %w: tensor<512x512xi8>) -> tensor<512x512xi32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<512x512xi8>, tensor<512x512xi8>) -> tensor<512x512xi32>
  graph.yield %0 : tensor<512x512xi32>
}
}
