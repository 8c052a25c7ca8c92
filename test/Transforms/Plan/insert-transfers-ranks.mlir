// Values that ranks exchange by collectives are in device memory; a runtime call between two
// collectives reads host memory.
// RUN: hewn-opt %s --hewn-insert-transfers | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {

func.func private @k(!llvm.ptr)

// CHECK-LABEL: func.func @main(
// CHECK: %[[K:.*]] = plan.launch @k(%arg0)
// CHECK-NEXT: %[[SUM:.*]] = graph.all_reduce %[[K]]
// CHECK-NEXT: %[[ON_HOST:.*]] = plan.copy %[[SUM]] to host
// CHECK-NEXT: graph.send %[[SUM]]
// CHECK-NEXT: %[[DET:.*]] = graph.det %[[ON_HOST]]
// CHECK-NEXT: %[[ON_DEVICE:.*]] = plan.copy %[[DET]] to device
// CHECK-NEXT: %[[ALL:.*]] = graph.all_gather %[[ON_DEVICE]]
// CHECK-NEXT: %[[CAME:.*]] = graph.receive
// CHECK-NEXT: plan.launch @k(%[[CAME]])
// CHECK-NOT: plan.copy
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.all_reduce %0 {first = 0 : i64, ranks = 2 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = graph.send %1 {to = 1 : i64} : (tensor<2x2xf32>) -> tensor<0xi8>
  %3 = graph.det %1 : (tensor<2x2xf32>) -> tensor<f32>
  %4 = graph.all_gather %3 {first = 0 : i64, ranks = 2 : i64} : (tensor<f32>) -> tensor<2xf32>
  %5 = graph.receive  {elementType = f32, from = 1 : i64, shape = [2]} : () -> tensor<2xf32>
  %6 = plan.launch @k(%5) symbols [] : (tensor<2xf32>) -> tensor<2xf32>
  return %4, %6 : tensor<2xf32>, tensor<2xf32>
}
}
