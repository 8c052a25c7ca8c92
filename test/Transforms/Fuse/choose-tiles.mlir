// Tiles by the model: large ones where there are enough of them, parts of the sum where there are not.
// RUN: hewn-opt %s --hewn-choose-tiles | FileCheck %s
//
// The same for machines that differ in one figure: a launch that takes long has no second one behind it, which would add parts up; threads
// of few registers have small tiles.
// RUN: sed 's/launchCycles = 3000/launchCycles = 300000/' %s | hewn-opt - --hewn-choose-tiles | FileCheck %s --check-prefix=LAUNCH
// RUN: sed 's/maxThreadRegisters = 255/maxThreadRegisters = 63/' %s | hewn-opt - --hewn-choose-tiles | FileCheck %s --check-prefix=FEW

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
// FEW: plan.kernel @large({{.*}} {schedule = #plan.grid_tile<m = 32, n = 32, cycles = {{[0-9]+}}>,
// CHECK: plan.kernel @large({{.*}} {schedule = #plan.grid_tile<m = 64, n = 128, cycles = {{[0-9]+}}>, symbols = []}
plan.kernel @large(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2048x512xf32>, tensor<512x2048xf32>) -> tensor<2048x2048xf32>
  graph.yield %0 : tensor<2048x2048xf32>
}

// LAUNCH: plan.kernel @small({{.*}} {schedule = #plan.grid_tile<m = 32, n = 32, cycles = {{[0-9]+}}>,
// CHECK: plan.kernel @small({{.*}} {schedule = #plan.grid_tile<m = 32, n = 32, splits = 16, cycles = {{[0-9]+}}>, symbols = []}
plan.kernel @small(%x: tensor<49x2048xf16>, %w: tensor<2048x96xf16>, %b: tensor<96xf16>) -> tensor<49x96xf16> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<49x2048xf16>) -> tensor<49x2048xf16>
  %1 = graph.matmul %0, %w : (tensor<49x2048xf16>, tensor<2048x96xf16>) -> tensor<49x96xf16>
  %2 = graph.add %1, %b : (tensor<49x96xf16>, tensor<96xf16>) -> tensor<49x96xf16>
  graph.yield %2 : tensor<49x96xf16>
}

// What is known only when run has one sum.
// CHECK: plan.kernel @unknown({{.*}} {schedule = #plan.grid_tile<m = 32, n = 32, cycles = {{[0-9]+}}>, symbols = ["s0"]}
plan.kernel @unknown(%x: tensor<?x2048xf32> {graph.dims = [#graph.dim<"s0">, 2048]}, %w: tensor<2048x96xf32>) -> tensor<?x96xf32> attributes {symbols = ["s0"]} {
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s0">, 96]]} : (tensor<?x2048xf32>, tensor<2048x96xf32>) -> tensor<?x96xf32>
  graph.yield %0 : tensor<?x96xf32>
}

// Few rows multiply no matrices.
// CHECK: plan.kernel @few({{.*}} attributes {symbols = []}
plan.kernel @few(%x: tensor<2x2048xf32>, %w: tensor<2048x96xf32>) -> tensor<2x96xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2x2048xf32>, tensor<2048x96xf32>) -> tensor<2x96xf32>
  graph.yield %0 : tensor<2x96xf32>
}
}
