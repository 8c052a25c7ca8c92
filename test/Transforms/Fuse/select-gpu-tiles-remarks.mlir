// Reasons why a GEMM is not split along K although more blocks would pay, each once.
// RUN: hewn-opt %s --hewn-select-gpu-tiles --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {

// CHECK: NotSplit | {{.*}}Reason="split-K needs static sizes, but the kernel has dynamic dims"
plan.kernel @unknown(%x: tensor<?x2048xf16> {graph.dims = [#graph.dim<"s0">, 2048]}, %w: tensor<2048x96xf16>) -> tensor<?x96xf16> attributes {symbols = ["s0"]} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 96]]} : (tensor<?x2048xf16>, tensor<2048x96xf16>) -> tensor<?x96xf16>
  graph.yield %0 : tensor<?x96xf16>
}
// CHECK: NotSplit | {{.*}}Reason="split-K needs a kernel of one contraction, elementwise ops and indexing ops"
plan.kernel @rows(%x: tensor<49x2048xf16>, %w: tensor<2048x96xf16>) -> tensor<49x1xf16> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<49x2048xf16>, tensor<2048x96xf16>) -> tensor<49x96xf16>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<49x96xf16>) -> tensor<49x1xf16>
  graph.yield %1 : tensor<49x1xf16>
}
// CHECK: NotSplit | {{.*}}Reason="split-K partials cannot have the blocked layout of the result"
plan.kernel @panels(%x: tensor<49x2048xf16>, %w: tensor<2048x96xf16>) -> tensor<49x96xf16, #graph.layout<[1, 0], blockDim = 1, block = 32>> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<49x2048xf16>, tensor<2048x96xf16>) -> tensor<49x96xf16, #graph.layout<[1, 0], blockDim = 1, block = 32>>
  graph.yield %0 : tensor<49x96xf16, #graph.layout<[1, 0], blockDim = 1, block = 32>>
}
// No split along K, because there are enough tiles for all multiprocessors.
// CHECK-NOT: NotSplit
plan.kernel @large(%x: tensor<?x512xf32> {graph.dims = [#graph.dim<"s0">, 512]}, %w: tensor<512x65536xf32>) -> tensor<?x65536xf32> attributes {symbols = ["s0"]} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 65536]]} : (tensor<?x512xf32>, tensor<512x65536xf32>) -> tensor<?x65536xf32>
  graph.yield %0 : tensor<?x65536xf32>
}
}
