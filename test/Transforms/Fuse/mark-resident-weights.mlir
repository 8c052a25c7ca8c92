// A kernel may keep a constant in shared memory if the steps of a scan multiply it by a small
// number of rows, and if each block's share of the constant fits.
// RUN: hewn-opt %s --hewn-mark-resident-weights | FileCheck %s
// RUN: hewn-opt %s --hewn-mark-resident-weights --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK: NotKept | {{.*}}Reason="weights are not kept in shared memory across loop steps: the larger operand is not a constant"
// REMARK: NotKept | {{.*}}Reason="weights are not kept in shared memory across loop steps: they need more thread blocks than the GPU has multiprocessors"
// REMARK: NotKept | {{.*}}Reason="weights are not kept in shared memory across loop steps: the share of one thread block is too large"
// REMARK: NotKept | {{.*}}Reason="weights are not kept in shared memory across loop steps: the same kernel computes the larger operand"
// REMARK: NotKept | {{.*}}Reason="weights are not kept in shared memory across loop steps: the sizes are dynamic"
// REMARK: NotKept | {{.*}}Reason="weights are not kept in shared memory across loop steps: kernels with matrix instructions do not support it"

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// CHECK: plan.kernel @step({{.*}} attributes {plan.resident_weights = 1 : i64, symbols = []}
plan.kernel @step(%h: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %h, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  graph.yield %0 : tensor<1x64xf32>
}
// Not marked as resident: a constant of a single launch, an operand computed in the step, more
// positions than multiprocessors, a K that is too large, many rows.
// CHECK-NOT: plan.resident_weights
plan.kernel @once(%h: tensor<1x64xf32>, %w: tensor<64x96xf32>) -> tensor<1x96xf32> attributes {symbols = []} {
  %0 = graph.matmul %h, %w : (tensor<1x64xf32>, tensor<64x96xf32>) -> tensor<1x96xf32>
  graph.yield %0 : tensor<1x96xf32>
}
plan.kernel @made(%h: tensor<1x64xf32>, %w: tensor<64x1xf32>) -> tensor<1x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %h, %w : (tensor<1x64xf32>, tensor<64x1xf32>) -> tensor<1x1xf32>
  graph.yield %0 : tensor<1x1xf32>
}
plan.kernel @wide(%h: tensor<1x64xf32>, %w: tensor<64x4096xf32>) -> tensor<1x4096xf32> attributes {symbols = []} {
  %0 = graph.matmul %h, %w : (tensor<1x64xf32>, tensor<64x4096xf32>) -> tensor<1x4096xf32>
  graph.yield %0 : tensor<1x4096xf32>
}
plan.kernel @long(%h: tensor<1x4096xf32>, %w: tensor<4096x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %h, %w : (tensor<1x4096xf32>, tensor<4096x64xf32>) -> tensor<1x64xf32>
  graph.yield %0 : tensor<1x64xf32>
}
plan.kernel @computed(%h: tensor<1x64xf32>, %w: tensor<64x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.matmul %h, %0 : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  graph.yield %1 : tensor<1x64xf32>
}
plan.kernel @unknown(%h: tensor<1x?xf32> {graph.dims = [1, #graph.dim<"n">]}, %w: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}) -> tensor<1x64xf32> attributes {symbols = ["n"]} {
  %0 = graph.matmul %h, %w : (tensor<1x?xf32>, tensor<?x64xf32>) -> tensor<1x64xf32>
  graph.yield %0 : tensor<1x64xf32>
}
plan.kernel @matrix(%h: tensor<16x64xf32>, %w: tensor<64x64xf32>) -> tensor<16x64xf32> attributes {symbols = []} {
  %0 = graph.matmul %h, %w : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  graph.yield %0 : tensor<16x64xf32>
}
func.func @main(%x: tensor<9x1x64xf32>, %s: tensor<1x64xf32>, %n: tensor<1x?xf32> {graph.dims = [1, #graph.dim<"n">]}, %m: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}, %r: tensor<16x64xf32>) -> (tensor<1x64xf32>, tensor<1x96xf32>) {
  %w = graph.constant {value = dense<1.0> : tensor<64x64xf32>} : tensor<64x64xf32>
  %o = graph.constant {value = dense<1.0> : tensor<64x96xf32>} : tensor<64x96xf32>
  %v = graph.constant {value = dense<1.0> : tensor<64x4096xf32>} : tensor<64x4096xf32>
  %l = graph.constant {value = dense<1.0> : tensor<4096x64xf32>} : tensor<4096x64xf32>
  %0 = graph.scan %s, %x attributes {backward = array<i1: false>, numStates = 1 : i64} {
  ^bb0(%h: tensor<1x64xf32>, %t: tensor<1x64xf32>):
    %1 = plan.launch @step(%h, %w) symbols [] : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    %2 = graph.reshape %t {shape = [64, 1]} : (tensor<1x64xf32>) -> tensor<64x1xf32>
    %3 = plan.launch @made(%1, %2) symbols [] : (tensor<1x64xf32>, tensor<64x1xf32>) -> tensor<1x1xf32>
    %4 = plan.launch @wide(%1, %v) symbols [] : (tensor<1x64xf32>, tensor<64x4096xf32>) -> tensor<1x4096xf32>
    %5 = plan.launch @long(%4, %l) symbols [] : (tensor<1x4096xf32>, tensor<4096x64xf32>) -> tensor<1x64xf32>
    %7 = plan.launch @computed(%5, %w) symbols [] : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    %8 = plan.launch @unknown(%n, %m) symbols [#graph.dim<"n">] : (tensor<1x?xf32>, tensor<?x64xf32>) -> tensor<1x64xf32>
    %9 = plan.launch @matrix(%r, %w) symbols [] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    graph.yield %7 : tensor<1x64xf32>
  } : (tensor<1x64xf32>, tensor<9x1x64xf32>) -> tensor<1x64xf32>
  %6 = plan.launch @once(%0, %o) symbols [] : (tensor<1x64xf32>, tensor<64x96xf32>) -> tensor<1x96xf32>
  return %0, %6 : tensor<1x64xf32>, tensor<1x96xf32>
}
}
