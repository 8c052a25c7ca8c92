// Neighbouring launches become one kernel where launching costs more than what is launched: the decision, as an attribute.
// RUN: hewn-opt %s -split-input-file --hewn-join-launches | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-join-launches --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="its kernel has groups of all threads of a block"

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
func.func private @k() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>}
func.func private @large() attributes {plan.launch_info = #plan.grid_launch<blocks = 4000, threads = 256, symbols = [], traffic = 400000000>}
func.func private @groups() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000, alone = true>}

// What is large stays alone, and so does what has groups of all threads. Views at an end are nobody's.
// CHECK-LABEL: func.func @main(
// CHECK: plan.launch @k({{.*}}plan.joint = 0
// CHECK: plan.launch @k({{.*}}plan.joint = 0
// CHECK: graph.reshape
// CHECK-NOT: plan.joint
// CHECK: plan.launch @large
// CHECK-NOT: plan.joint
// CHECK: plan.launch @k({{.*}}plan.joint = 1
// CHECK: graph.reshape {{.*}}plan.joint = 1
// CHECK: plan.launch @k({{.*}}plan.joint = 1
// CHECK: plan.launch @groups
// CHECK-NOT: plan.joint
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 256 : i64} {
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.places = [#plan.place<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %2 = graph.reshape %1 {shape = [2, 5], plan.places = [#plan.place<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  %3 = plan.launch @large(%2) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<2x5xf32>) -> tensor<10xf32>
  %4 = plan.launch @k(%3) symbols [] {plan.places = [#plan.place<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %5 = graph.reshape %4 {shape = [2, 5], plan.places = [#plan.place<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  %6 = plan.launch @k(%5) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<2x5xf32>) -> tensor<10xf32>
  %7 = plan.launch @groups(%6) symbols [] {plan.places = [#plan.place<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %8 = plan.launch @large(%7) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %8 : tensor<10xf32>
}
}

// -----

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
func.func private @k() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>}
func.func private @two() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>}

// Scans are joined as a whole, whose states move by themselves or one of which becomes another; where the host has to hand over a state,
// as one whose memory is not planned, only what a step does.
// CHECK-LABEL: func.func @main(
// CHECK: plan.launch @k({{.*}}plan.joint = 0
// CHECK: graph.scan {{.*}}plan.joint = 0
// CHECK: graph.scan {{.*}}plan.joint = 0
// CHECK-NOT: plan.joint
// CHECK: graph.scan
// CHECK-NOT: plan.joint
// CHECK: plan.launch @k({{.*}}plan.joint = 1
// CHECK: plan.launch @two({{.*}}plan.joint = 1
func.func @main(%x: tensor<10xf32>, %s: tensor<100x10xf32>) -> (tensor<100x10xf32>, tensor<100x10xf32>) attributes {plan.arena_bytes = 512 : i64} {
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1:2 = graph.scan %0, %s attributes {backward = array<i1: false, false>, numStates = 1 : i64, plan.places = [#plan.place<arena, 64>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %3 = plan.launch @k(%h) symbols [] {plan.places = [#plan.place<arena, 128>]} : (tensor<10xf32>) -> tensor<10xf32>
    %4:2 = plan.launch @two(%3, %t) symbols [] {plan.places = [#plan.place<arena, 192>, #plan.place<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %4#0, %4#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<100x10xf32>) -> (tensor<10xf32>, tensor<100x10xf32>)
  %2:3 = graph.scan %0, %0, %s attributes {backward = array<i1: false, false>, numStates = 2 : i64, plan.places = [#plan.place<arena, 64>, #plan.place<arena, 256>, #plan.place<output, 1>]} {
  ^bb0(%h: tensor<10xf32>, %g: tensor<10xf32>, %t: tensor<10xf32>):
    %3 = plan.launch @k(%h) symbols [] {plan.places = [#plan.place<arena, 128>]} : (tensor<10xf32>) -> tensor<10xf32>
    %4:2 = plan.launch @two(%3, %g, %t) symbols [] {plan.places = [#plan.place<arena, 192>, #plan.place<slice, 2>]} : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %4#0, %h, %4#1 : tensor<10xf32>, tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<10xf32>, tensor<100x10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<100x10xf32>)
  %5:2 = graph.scan %0, %s attributes {backward = array<i1: false, false>, numStates = 1 : i64, plan.places = [#plan.place<dynamic>, #plan.place<output, 1>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %3 = plan.launch @k(%h) symbols [] {plan.places = [#plan.place<arena, 128>]} : (tensor<10xf32>) -> tensor<10xf32>
    %4:2 = plan.launch @two(%3, %t) symbols [] {plan.places = [#plan.place<arena, 192>, #plan.place<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %4#0, %4#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<100x10xf32>) -> (tensor<10xf32>, tensor<100x10xf32>)
  return %1#1, %5#1 : tensor<100x10xf32>, tensor<100x10xf32>
}
}

// -----

// Machines whose blocks don't wait for each other.
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
func.func private @k() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>}
// CHECK-LABEL: func.func @main(
// CHECK-NOT: plan.joint
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 256 : i64} {
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}
}

// -----

// All parts of a kernel get the registers and threads of the largest: where a processor has not so many, there are two kernels.
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
func.func private @many() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 1024, symbols = [], traffic = 4000>}
func.func private @large() attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], registers = 200, traffic = 4000>}
// CHECK-LABEL: func.func @main(
// CHECK: plan.launch @many({{.*}}plan.joint = 0
// CHECK: plan.launch @many({{.*}}plan.joint = 0
// CHECK: plan.launch @large({{.*}}plan.joint = 1
// CHECK: plan.launch @large({{.*}}plan.joint = 1
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 256 : i64} {
  %0 = plan.launch @many(%x) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @many(%0) symbols [] {plan.places = [#plan.place<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %2 = plan.launch @large(%1) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %3 = plan.launch @large(%2) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %3 : tensor<10xf32>
}
}
