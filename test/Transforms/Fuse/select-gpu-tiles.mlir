// Tiles by the cost model: large ones if there are enough of them, otherwise split-K.
// RUN: hewn-opt %s --hewn-select-gpu-tiles | FileCheck %s
//
// Targets that differ in one property: on a target with slow launches, no second launch combines
// split-K partials; on a target with few registers per thread, tiles are small.
// RUN: sed 's/launchCycles = 3000/launchCycles = 300000/' %s | hewn-opt - --hewn-select-gpu-tiles | FileCheck %s --check-prefix=LAUNCH
// RUN: sed 's/maxThreadRegisters = 255/maxThreadRegisters = 63/' %s | hewn-opt - --hewn-select-gpu-tiles | FileCheck %s --check-prefix=FEW

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// FEW: plan.kernel @large({{.*}} {schedule = #plan.gpu_tile<m = 32, n = 32, cycles = {{[0-9]+}}>,
// CHECK: plan.kernel @large({{.*}} {schedule = #plan.gpu_tile<m = 64, n = 128, cycles = {{[0-9]+}}>, symbols = []}
plan.kernel @large(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2048x512xf32>, tensor<512x2048xf32>) -> tensor<2048x2048xf32>
  graph.yield %0 : tensor<2048x2048xf32>
}

// LAUNCH: plan.kernel @small({{.*}} {schedule = #plan.gpu_tile<m = 32, n = 32, cycles = {{[0-9]+}}>,
// CHECK: plan.kernel @small({{.*}} {schedule = #plan.gpu_tile<m = 32, n = 32, splits = 16, cycles = {{[0-9]+}}>, symbols = []}
plan.kernel @small(%x: tensor<49x2048xf16>, %w: tensor<2048x96xf16>, %b: tensor<96xf16>) -> tensor<49x96xf16> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<49x2048xf16>) -> tensor<49x2048xf16>
  %1 = graph.matmul %0, %w : (tensor<49x2048xf16>, tensor<2048x96xf16>) -> tensor<49x96xf16>
  %2 = graph.add %1, %b : (tensor<49x96xf16>, tensor<96xf16>) -> tensor<49x96xf16>
  graph.yield %2 : tensor<49x96xf16>
}

// A GEMM with a dynamic size is not split along K.
// CHECK: plan.kernel @unknown({{.*}} {schedule = #plan.gpu_tile<m = 32, n = 32, cycles = {{[0-9]+}}>, symbols = ["s0"]}
plan.kernel @unknown(%x: tensor<?x2048xf32> {graph.dims = [#graph.dim<"s0">, 2048]}, %w: tensor<2048x96xf32>) -> tensor<?x96xf32> attributes {symbols = ["s0"]} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 96]]} : (tensor<?x2048xf32>, tensor<2048x96xf32>) -> tensor<?x96xf32>
  graph.yield %0 : tensor<?x96xf32>
}

// Skinny GEMMs get no tiles for matrix instructions, because they do not use them.
// CHECK: plan.kernel @few({{.*}} attributes {symbols = []}
plan.kernel @few(%x: tensor<2x2048xf32>, %w: tensor<2048x96xf32>) -> tensor<2x96xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2x2048xf32>, tensor<2048x96xf32>) -> tensor<2x96xf32>
  graph.yield %0 : tensor<2x96xf32>
}
}
