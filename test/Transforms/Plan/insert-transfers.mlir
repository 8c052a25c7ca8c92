// Transfers between host and device memory: one per value, after its producer.
// RUN: hewn-opt %s --hewn-insert-transfers | FileCheck %s
// RUN: hewn-opt %s --hewn-insert-transfers --hewn-plan-memory --hewn-verify-plan | FileCheck %s --check-prefix=PLAN

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {

func.func private @k(!llvm.ptr)

// The operand of the runtime call is copied to the host, its result to the device; the entry point
// transfers inputs and results.
// CHECK-LABEL: func.func @main(
// CHECK: %[[K:.*]] = plan.launch @k(%arg0)
// CHECK-NEXT: %[[ON_HOST:.*]] = plan.copy %[[K]] to host : tensor<2x2xf32>
// CHECK-NEXT: %[[DET:.*]] = graph.det %[[ON_HOST]]
// CHECK-NEXT: %[[ON_DEVICE:.*]] = plan.copy %[[DET]] to device : tensor<f32>
// CHECK-NEXT: plan.launch @k(%[[ON_DEVICE]])
// CHECK-NEXT: plan.launch @k(%[[ON_DEVICE]])
// CHECK-NOT: plan.copy
// PLAN: plan.copy {{.*}} to host {plan.buffers = [#plan.buffer<arena
func.func @main(%x: tensor<2x2xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.det %0 : (tensor<2x2xf32>) -> tensor<f32>
  %2 = plan.launch @k(%1) symbols [] : (tensor<f32>) -> tensor<f32>
  %3 = plan.launch @k(%1) symbols [] : (tensor<f32>) -> tensor<f32>
  return %1, %2, %3 : tensor<f32>, tensor<f32>, tensor<f32>
}
}
