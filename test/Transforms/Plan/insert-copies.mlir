// What crosses between the host's memory and the device's: once a value, behind what makes it.
// RUN: hewn-opt %s --hewn-insert-copies | FileCheck %s
// RUN: hewn-opt %s --hewn-insert-copies --hewn-plan-memory --hewn-verify-plan | FileCheck %s --check-prefix=PLAN

#limits = #plan.grid_limits<registers = 65536, threads = 2048, threadRegisters = 255, registerStep = 8, blockThreads = 1024, blockBytes = 1024, staticBytes = 49152, arguments = 440>
#gridCosts = #plan.grid_costs<rate = 512, threadRate = 128, issueRate = 128, memoryRate = 1000, cacheRate = 48, sharedRate = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockCycles = 1200, sliceCycles = 150, termCycles = 50, fetchCycles = 600, tileCycles = 600, partCycles = 2500, memoryCycles = 800, threadBytes = 32, busyThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {

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
