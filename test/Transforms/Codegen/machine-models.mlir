// Schedules follow the target description: a fictitious target, and variants that differ in one
// property.
// RUN: hewn-opt %s --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,THIS
// RUN: sed 's/l2LoadCost = 200/l2LoadCost = 900/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,PANEL
// RUN: sed 's/loadCost = 10/loadCost = 500/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,LOAD
// RUN: sed 's/fmaLatencyCost = 400/fmaLatencyCost = 3000/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,STEP
// RUN: sed 's/vectorRegisters = 16/vectorRegisters = 64/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,REGISTERS
// RUN: sed 's/minAccumulators = 8, attentionRows = 5/minAccumulators = 14, attentionRows = 3/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,CHAINS
// RUN: sed 's/laneLoadCost = 200/laneLoadCost = 200, widenCost = 50/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,WIDEN
// RUN: sed 's/laneLoadCost = 200/laneLoadCost = 200, widenCost = 50/;s/vectorRegisters = 16/vectorRegisters = 64/' %s | hewn-opt - --hewn-assign-schedules | FileCheck %s --check-prefixes=CHECK,WIDEN-REGISTERS

#costs = #plan.vector_costs<l2LoadCost = 200, l2MissCost = 200, loadCost = 10, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 8, attentionRows = 5, fmasPerCycle = 1, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 50, laneLoadCost = 200>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, costs = #costs>} {
// If dequantizing a panel is slow, more rows share a panel of fewer columns. If loads are slow,
// register tiles have more accumulators. With more registers, tiles are larger in both dims.
// CHECK-LABEL: plan.kernel @product(
// THIS-SAME: schedule = #plan.contract<m = 6, n = 16, lanes = 8, cycles = 8192>
// PANEL-SAME: schedule = #plan.contract<m = 12, n = 8, lanes = 8, cycles = 8512>
// LOAD-SAME: schedule = #plan.contract<m = 12, n = 8, lanes = 8, cycles = 11648>
// STEP-SAME: schedule = #plan.contract<m = 6, n = 16, lanes = 8, cycles = 19712>
// REGISTERS-SAME: schedule = #plan.contract<m = 14, n = 16, lanes = 8, cycles = 8128>
plan.kernel @product(%x: tensor<60x64xf32>, %w: tensor<64x16xf32>) -> tensor<60x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<60x64xf32>, tensor<64x16xf32>) -> tensor<60x16xf32>
  graph.yield %0 : tensor<60x16xf32>
}
// If extending a vector of weights to float is slow, the tiles have more rows, which share this
// cost, except for tiles of one vector.
// CHECK-LABEL: plan.kernel @halves(
// THIS-SAME: schedule = #plan.contract<m = 6, n = 16, lanes = 8, cycles = 
// WIDEN-SAME: schedule = #plan.contract<m = 6, n = 16, lanes = 8, cycles = 
// REGISTERS-SAME: schedule = #plan.contract<m = 8, n = 56, lanes = 8, cycles = 
// WIDEN-REGISTERS-SAME: schedule = #plan.contract<m = 14, n = 32, lanes = 8, cycles = 
plan.kernel @halves(%x: tensor<600x64xf32>, %w: tensor<64x384xf16>) -> tensor<600x384xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<600x64xf32>, tensor<64x384xf16>) -> tensor<600x384xf32>
  graph.yield %0 : tensor<600x384xf32>
}
// The schedule of a depthwise convolution has as many accumulators as hide the latency of an
// addition, or as the target has registers.
// CHECK-LABEL: plan.kernel @depthwise(
// THIS-SAME: schedule = #plan.contract<m = 7, n = 8,
// REGISTERS-SAME: schedule = #plan.contract<m = 28, n = 8,
// CHAINS-SAME: schedule = #plan.contract<m = 14, n = 8,
plan.kernel @depthwise(%x: tensor<1x8x30x30xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<8x1x3x3xf32, #graph.layout<[1, 2, 3, 0]>>) -> tensor<1x8x28x28xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64} : (tensor<1x8x30x30xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<8x1x3x3xf32, #graph.layout<[1, 2, 3, 0]>>) -> tensor<1x8x28x28xf32, #graph.layout<[0, 2, 3, 1]>>
  graph.yield %0 : tensor<1x8x28x28xf32, #graph.layout<[0, 2, 3, 1]>>
}
// In the schedule of fused attention, the rows of a task are full tiles, at most four of them.
// CHECK-LABEL: plan.kernel @attention(
// THIS-SAME: schedule = #plan.attention<rows = 20, head = #plan.contract<m = 6, n = 16,
// STEP-SAME: schedule = #plan.attention<rows = 20, head = #plan.contract<m = 14, n = 8,
// CHAINS-SAME: schedule = #plan.attention<rows = 12,
plan.kernel @attention(%q: tensor<2x64x32xf32>, %k: tensor<2x32x64xf32>, %v: tensor<2x64x32xf32>) -> tensor<2x64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %q, %k : (tensor<2x64x32xf32>, tensor<2x32x64xf32>) -> tensor<2x64x64xf32>
  %m = graph.reduce_max %0 {dims = array<i64: 2>, keepdims = true} : (tensor<2x64x64xf32>) -> tensor<2x64x1xf32>
  %1 = graph.sub %0, %m : (tensor<2x64x64xf32>, tensor<2x64x1xf32>) -> tensor<2x64x64xf32>
  %2 = graph.exp %1 : (tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %s = graph.reduce_sum %2 {dims = array<i64: 2>, keepdims = true} : (tensor<2x64x64xf32>) -> tensor<2x64x1xf32>
  %3 = graph.div %2, %s : (tensor<2x64x64xf32>, tensor<2x64x1xf32>) -> tensor<2x64x64xf32>
  %4 = graph.matmul %3, %v : (tensor<2x64x64xf32>, tensor<2x64x32xf32>) -> tensor<2x64x32xf32>
  graph.yield %4 : tensor<2x64x32xf32>
}
}
