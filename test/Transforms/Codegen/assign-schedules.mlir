// Each kernel gets its schedule as an attribute, and the scratch memory that the schedule needs.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --hewn-insert-scratch | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --hewn-insert-scratch --hewn-assign-schedules | FileCheck %s

#target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
module attributes {plan.target = #target} {

// Kernels that become loop nests, for which there are four forms of schedules.
// CHECK-LABEL: plan.kernel @elements({{.*}}schedule = #plan.loops<elements>
plan.kernel @elements(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.yield %0 : tensor<4x8xf32>
}
// CHECK-LABEL: plan.kernel @rows({{.*}}schedule = #plan.loops<rows>
plan.kernel @rows(%x: tensor<64x512xf32>) -> tensor<64x512xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x512xf32>, tensor<64x1xf32>) -> tensor<64x512xf32>
  graph.yield %1 : tensor<64x512xf32>
}
// CHECK-LABEL: plan.kernel @map({{.*}}schedule = #plan.loops<map>
plan.kernel @map(%x: tensor<4x8xf32>) -> tensor<8x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  graph.yield %0 : tensor<8x4xf32>
}
// CHECK-LABEL: plan.kernel @cumulate({{.*}}schedule = #plan.loops<cumulate>
plan.kernel @cumulate(%x: tensor<3x5000xf32>) -> tensor<3x5000xf32> attributes {symbols = []} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<3x5000xf32>) -> tensor<3x5000xf32>
  graph.yield %0 : tensor<3x5000xf32>
}

// The schedule of a GEMM is a register tile with 4 by 16 accumulators: each of the 64 K steps takes
// 8 vector FMAs and some loads.
// CHECK-LABEL: plan.kernel @contract({{.*}}schedule = #plan.contract<m = 4, n = 16, lanes = 8, cycles = {{5[0-9][0-9]}}>
plan.kernel @contract(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #panels>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #panels>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}
// The pass keeps a schedule that a kernel already has.
// CHECK-LABEL: plan.kernel @hand({{.*}}schedule = #plan.contract<m = 2, n = 16, lanes = 8>
plan.kernel @hand(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #panels>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
  %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #panels>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}

// For a GEMM with one or two rows, the tile has more columns, whose accumulators hide the latency
// of the FMAs.
// CHECK-LABEL: plan.kernel @one_row({{.*}}schedule = #plan.contract<m = 1, n = 64, lanes = 8
plan.kernel @one_row(%x: tensor<1x64xf32>, %w: tensor<64x128xf32, #panels>) -> tensor<1x128xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<1x64xf32>, tensor<64x128xf32, #panels>) -> tensor<1x128xf32>
  graph.yield %0 : tensor<1x128xf32>
}
// CHECK-LABEL: plan.kernel @two_rows({{.*}}schedule = #plan.contract<m = 2, n = 32, lanes = 8
plan.kernel @two_rows(%x: tensor<2x64xf32>, %w: tensor<64x128xf32, #panels>) -> tensor<2x128xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2x64xf32>, tensor<64x128xf32, #panels>) -> tensor<2x128xf32>
  graph.yield %0 : tensor<2x128xf32>
}

// GEMMs with packed low-bit weights: with a single row, the kernel dequantizes the weights in
// registers; with more rows, the rows share a dequantized panel of 16 columns.
// CHECK-LABEL: plan.kernel @decode_one({{.*}} -> tensor<1x128xf32> attributes {schedule = #plan.contract<m = 1, n = 16, lanes = 8
plan.kernel @decode_one(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32, #panels>, %x: tensor<1x256xf32>) -> tensor<1x128xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32, #panels>) -> tensor<256x128xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  graph.yield %1 : tensor<1x128xf32>
}
// CHECK-LABEL: plan.kernel @decode_many({{.*}} -> (tensor<16x4096xf32>, tensor<100x128xf32>) attributes {schedule = #plan.contract<m = {{.*}}, n = 16, lanes = 8
// CHECK: %[[M:.*]] = graph.scratch {{.*}}shape = [16, 4096]} : () -> tensor<16x4096xf32>
// CHECK: graph.yield %[[M]], %
plan.kernel @decode_many(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32, #panels>, %x: tensor<100x256xf32>) -> tensor<100x128xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32, #panels>) -> tensor<256x128xf32>
  %1 = graph.matmul %x, %0 : (tensor<100x256xf32>, tensor<256x128xf32>) -> tensor<100x128xf32>
  graph.yield %1 : tensor<100x128xf32>
}
}

// -----

// The kernel of fused attention has its scores on the stack. Each of its two GEMMs has a schedule
// of its own.
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
// CHECK-LABEL: plan.kernel @attention(
// CHECK-SAME: -> tensor<16x64x32xf32> attributes {schedule = #plan.attention<rows = 16, head = #plan.contract<m = 6, n = 16, lanes = 8, cycles = {{[0-9]+}}>, middle = #plan.loops<rows>, tail = #plan.contract<m = 6, n = 16, lanes = 8, cycles = {{[0-9]+}}>>, symbols = []}
// CHECK-NOT: graph.scratch
plan.kernel @attention(%q: tensor<16x64x32xf32>, %k: tensor<16x32x64xf32>, %v: tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
    attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
  %d = graph.sub %s, %m : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
  %y = graph.matmul %d, %v : (tensor<16x64x64xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  graph.yield %y : tensor<16x64x32xf32>
}
}

// -----

// If the number of columns of attention is dynamic, the scores need scratch memory with one buffer
// of eight rows for each slot (thread). The launch gives the dims of this memory in its own
// symbols.
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
// CHECK-LABEL: plan.kernel @unknown(
// CHECK-SAME: -> (tensor<16x1x8x?xf32>, tensor<?x64xf32>) attributes {schedule = #plan.attention<rows = 8, slots = 16, head = #plan.contract<m = 6, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 6, n = 16, lanes = 8>>
// CHECK: graph.scratch {{.*}}of = f32, shape = [16, 1, 8, #graph.dim<"{{.*}}s1{{.*}}">]}
plan.kernel @unknown(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"s0">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"s1">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"s1">, 64]}) -> tensor<?x64xf32>
    attributes {symbols = ["s0", "s1"]} {
  %s = graph.matmul %q, %k {graph.dims = [[#graph.dim<"s0">, #graph.dim<"s1">]]} : (tensor<?x64xf32>, tensor<64x?xf32>) -> tensor<?x?xf32>
  %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[#graph.dim<"s0">, 1]]} : (tensor<?x?xf32>) -> tensor<?x1xf32>
  %d = graph.sub %s, %m {graph.dims = [[#graph.dim<"s0">, #graph.dim<"s1">]]} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
  %y = graph.matmul %d, %v {graph.dims = [[#graph.dim<"s0">, 64]]} : (tensor<?x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  graph.yield %y : tensor<?x64xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = plan.launch @unknown({{.*}}) symbols [#graph.dim<"a">, #graph.dim<"b">] {graph.dims = {{\[\[}}16, 1, 8, #graph.dim<"16*floordiv(b + 15, 16) - 16*mod(floordiv(b + 15, 16), 2) + 16">], [#graph.dim<"a">, 64]]}
// CHECK: return %[[Y]]#1
func.func @main(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"a">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"b">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"b">, 64]}) -> tensor<?x64xf32> {
  %0 = plan.launch @unknown(%q, %k, %v) symbols [#graph.dim<"a">, #graph.dim<"b">] {graph.dims = [[#graph.dim<"a">, 64]]} : (tensor<?x64xf32>, tensor<64x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
}

// -----

// This pass assigns no schedules to GPU kernels; assign-gpu-schedules.mlir tests the pass that
// does.
// CHECK-LABEL: plan.kernel @grid({{.*}} attributes {schedule = #plan.gpu_map<threads = 256, widths = [1]>, symbols = []}
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
plan.kernel @grid(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.yield %0 : tensor<4x8xf32>
}
}

// -----

// If a user has edited the schedule of a kernel, the pass adapts the scratch memory to it (two
// slots with twice as many rows), and removes scratch memory that no schedule needs.
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
// CHECK-LABEL: plan.kernel @edited(
// CHECK-SAME: -> (tensor<2x1x16x80xf32>, tensor<64x32xf32>) attributes {schedule = #plan.attention<rows = 16, slots = 2,
// CHECK: graph.scratch {{.*}}shape = [2, 1, 16, 80]
// CHECK-NOT: graph.scratch
plan.kernel @edited(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<16x1x8x80xf32>)
    attributes {symbols = [], schedule = #plan.attention<rows = 16, slots = 2, head = #plan.loops<map>, middle = #plan.loops<rows>, tail = #plan.loops<map>>} {
  %s = graph.matmul %q, %k : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %d = graph.sub %s, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %y = graph.matmul %d, %v : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %w = graph.scratch {shape = [16, 1, 8, 80], of = f32} : () -> tensor<16x1x8x80xf32>
  graph.yield %y, %w : tensor<64x32xf32>, tensor<16x1x8x80xf32>
}
// CHECK-LABEL: plan.kernel @idle({{.*}} -> tensor<4x8xf32> attributes {schedule = #plan.loops<map>
// CHECK-NOT: graph.scratch
plan.kernel @idle(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.scratch {shape = [4, 8], of = f32} : () -> tensor<4x8xf32>
  graph.yield %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// A kernel that already has several scratch buffers is not compiled as fused attention, which
// supports only one, and the buffers are zero-filled.
// CHECK-LABEL: plan.kernel @twice({{.*}}schedule = #plan.loops<map>
plan.kernel @twice(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<4xf32>, tensor<8xf32>) attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %d = graph.sub %s, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %y = graph.matmul %d, %v : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %a = graph.scratch {shape = [4], of = f32} : () -> tensor<4xf32>
  %b = graph.scratch {shape = [8], of = f32} : () -> tensor<8xf32>
  graph.yield %y, %a, %b : tensor<64x32xf32>, tensor<4xf32>, tensor<8xf32>
}
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = plan.launch @edited({{.*}} -> (tensor<2x1x16x80xf32>, tensor<64x32xf32>)
// CHECK: plan.launch @idle({{.*}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: return %[[Y]]#1
func.func @main(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>, %x: tensor<4x8xf32>) -> (tensor<64x32xf32>, tensor<4x8xf32>) {
  %0:2 = plan.launch @edited(%q, %k, %v) symbols [] : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x32xf32>) -> (tensor<64x32xf32>, tensor<16x1x8x80xf32>)
  %1:2 = plan.launch @idle(%x) symbols [] : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return %0#0, %1#0 : tensor<64x32xf32>, tensor<4x8xf32>
}
}
