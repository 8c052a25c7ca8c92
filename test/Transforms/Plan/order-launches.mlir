// RUN: hewn-opt %s --split-input-file --hewn-order-launches --mlir-print-local-scope | FileCheck %s

// The pass orders launches so that only one large value is live at a time. Producers of the first
// op, including views, come first.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @widen(%arg0)
// CHECK: graph.reshape
// CHECK: plan.launch @sum
// CHECK: plan.launch @widen(%arg1)
// CHECK: plan.launch @total
func.func private @k()
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.launch @widen(%x) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  %1 = plan.launch @widen(%y) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  %2 = graph.reshape %0 {shape = [32, 32], graph.dims = [[32, 32]]} : (tensor<1024xf32>) -> tensor<32x32xf32>
  %3 = plan.launch @sum(%2) symbols [] : (tensor<32x32xf32>) -> tensor<4xf32>
  %4 = plan.launch @total(%1, %3) symbols [] : (tensor<1024xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// The pass keeps the order of the launches if no other order is better.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @a
// CHECK: plan.launch @b
// CHECK: plan.launch @c
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = plan.launch @a(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @b(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = plan.launch @c(%0, %1) symbols [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// The pass moves no launch across an op that reads a symbol.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @widen(%arg0)
// CHECK: plan.launch @widen(%arg1)
// CHECK: graph.read_symbol
// CHECK: plan.launch @sum
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<1xi64>) -> tensor<4xf32> {
  %0 = plan.launch @widen(%x) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  %1 = plan.launch @widen(%y) symbols [] : (tensor<4xf32>) -> tensor<1024xf32>
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  %3 = plan.launch @sum(%0) symbols [#graph.dim<"u0">] : (tensor<1024xf32>) -> tensor<4xf32>
  %4 = plan.launch @total(%1, %3) symbols [] : (tensor<1024xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// If a persistent kernel has barriers between its phases, launches that use the same value become
// adjacent, together with the views between them.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @q(%[[X:[0-9]+]])
// CHECK-NEXT: graph.reshape %[[X]] 
// CHECK-NEXT: plan.launch @k
// CHECK-NEXT: plan.launch @turn
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
func.func @main(%z: tensor<4xf32>) -> tensor<4xf32> {
  %x = plan.launch @norm(%z) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %0 = plan.launch @q(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @turn(%0) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.reshape %x {shape = [2, 2], graph.dims = [[2, 2]]} : (tensor<4xf32>) -> tensor<2x2xf32>
  %3 = plan.launch @k(%2) symbols [] : (tensor<2x2xf32>) -> tensor<4xf32>
  %4 = plan.launch @sum(%1, %3) symbols [] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
}

// -----

// The pass does not make launches adjacent if more memory would be live, or if an op between them
// computes an operand.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @q
// CHECK-NEXT: plan.launch @shrink
// CHECK-NEXT: plan.launch @k
// CHECK-LABEL: func.func private @other
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
func.func @main(%z: tensor<4xf32>) -> tensor<4xf32> {
  %x = plan.launch @norm(%z) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  %0 = plan.launch @q(%x) symbols [] : (tensor<4xf32>) -> tensor<4096xf32>
  %1 = plan.launch @shrink(%0) symbols [] : (tensor<4096xf32>) -> tensor<4xf32>
  %3 = plan.launch @k(%x) symbols [] : (tensor<4xf32>) -> tensor<4096xf32>
  %4 = plan.launch @sum(%1, %3) symbols [] : (tensor<4xf32>, tensor<4096xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}
func.func private @other()
}
