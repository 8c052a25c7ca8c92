// What crosses between the host's memory and the device's: once a value, behind what makes it.
// RUN: hewn-opt %s --hewn-insert-copies | FileCheck %s
// RUN: hewn-opt %s --hewn-insert-copies --hewn-plan-memory --hewn-verify-plan | FileCheck %s --check-prefix=PLAN

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {

func.func private @k(!llvm.ptr)

// The part's operand goes to the host, what it makes to the device; inputs and what is returned cross at the door.
// CHECK-LABEL: func.func @main(
// CHECK: %[[K:.*]] = plan.launch @k(%arg0)
// CHECK-NEXT: %[[ON_HOST:.*]] = plan.copy %[[K]] to host : tensor<2x2xf32>
// CHECK-NEXT: %[[DET:.*]] = graph.det %[[ON_HOST]]
// CHECK-NEXT: %[[ON_DEVICE:.*]] = plan.copy %[[DET]] to device : tensor<f32>
// CHECK-NEXT: plan.launch @k(%[[ON_DEVICE]])
// CHECK-NEXT: plan.launch @k(%[[ON_DEVICE]])
// CHECK-NOT: plan.copy
// PLAN: plan.copy {{.*}} to host {plan.places = [#plan.place<arena
func.func @main(%x: tensor<2x2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.det %0 : (tensor<2x2xf32>) -> tensor<f32>
  %2 = plan.launch @k(%1) symbols [] : (tensor<f32>) -> tensor<f32>
  %3 = plan.launch @k(%1) symbols [] : (tensor<f32>) -> tensor<f32>
  return %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>
}
}
