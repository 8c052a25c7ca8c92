// Row-wise ops between two contractions: the pass fuses all of them into one kernel if the scores
// of all rows together exceed the cache.
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: NotChained | {{.*}}Reason="a value between the two contractions has other uses"
// REMARK-DAG: Reason="not fused into attention: the first GEMM's result fits the cache"
// REMARK-DAG: Reason="a head dimension is too large for accumulators in registers"
// REMARK-DAG: Reason="a head dimension is dynamic"
// REMARK-DAG: Reason="the target has no MMA for this contraction"

#machine = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>

// CHECK-LABEL: func.func @attention
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0 : i64, graph.why = "fused attention: the second GEMM consumes each row of the first
// CHECK: graph.reduce_max {{.*}}graph.fusion_group = 0
// CHECK: graph.exp {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.relu {{.*}}graph.fusion_group = 0
module attributes {plan.target = #machine} {
  func.func @attention(%q: tensor<2x512x64xf32>, %k: tensor<2x64x512xf32>, %v: tensor<2x512x64xf32>) -> tensor<2x512x64xf32> {
    %s = graph.matmul %q, %k : (tensor<2x512x64xf32>, tensor<2x64x512xf32>) -> tensor<2x512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x512x512xf32>) -> tensor<2x512x1xf32>
    %d = graph.sub %s, %m : (tensor<2x512x512xf32>, tensor<2x512x1xf32>) -> tensor<2x512x512xf32>
    %e = graph.exp %d : (tensor<2x512x512xf32>) -> tensor<2x512x512xf32>
    %y = graph.matmul %e, %v : (tensor<2x512x512xf32>, tensor<2x512x64xf32>) -> tensor<2x512x64xf32>
    %r = graph.relu %y : (tensor<2x512x64xf32>) -> tensor<2x512x64xf32>
    return %r : tensor<2x512x64xf32>
  }
}

// -----

// Not fused into attention: the scores of all rows together fit the cache.
// CHECK-LABEL: func.func @small
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 2
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @small(%q: tensor<16x64xf32>, %k: tensor<64x16xf32>, %v: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %s = graph.matmul %q, %k : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
    %d = graph.sub %s, %m : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    %y = graph.matmul %d, %v : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    return %y : tensor<16x64xf32>
  }
}

// -----

// Not fused into attention: the scores are also a result of the function.
// CHECK-LABEL: func.func @seen
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 2
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @seen(%q: tensor<512x64xf32>, %k: tensor<64x512xf32>, %v: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512x512xf32>) {
    %s = graph.matmul %q, %k : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %y, %s : tensor<512x64xf32>, tensor<512x512xf32>
  }
}

// -----

// If the number of columns is dynamic, a row of scores may exceed the stack, so that the attention
// kernel gets scratch memory.
// CHECK-LABEL: func.func @unknown
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @unknown(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"m">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"n">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}) -> tensor<?x64xf32> {
    %s = graph.matmul %q, %k {graph.dims = [[#graph.dim<"m">, #graph.dim<"n">]]} : (tensor<?x64xf32>, tensor<64x?xf32>) -> tensor<?x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[#graph.dim<"m">, 1]]} : (tensor<?x?xf32>) -> tensor<?x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[#graph.dim<"m">, #graph.dim<"n">]]} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
    %y = graph.matmul %d, %v {graph.dims = [[#graph.dim<"m">, 64]]} : (tensor<?x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

// On a GPU, the scores of fused attention stay in registers for any number of rows, without scratch
// memory.
// CHECK-LABEL: func.func @grid
// CHECK-NOT: graph.scratch
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @grid(%q: tensor<8x64xf32>, %k: tensor<64x16xf32>, %v: tensor<16x64xf32>) -> tensor<8x64xf32> {
    %s = graph.matmul %q, %k : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8x1xf32>
    %d = graph.sub %s, %m : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
    %y = graph.matmul %d, %v : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
}

// -----

// Not fused into attention: the accumulators of the result's long rows exceed the registers of a
// GPU thread.
// CHECK-LABEL: func.func @long_lines
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 2
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @long_lines(%q: tensor<512x256xf32>, %k: tensor<256x512xf32>, %v: tensor<512x256xf32>) -> tensor<512x256xf32> {
    %s = graph.matmul %q, %k : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
    return %y : tensor<512x256xf32>
  }
}

// -----

// Not fused into attention: the number of accumulators for a result row of dynamic length is
// unknown.
// CHECK-LABEL: func.func @unknown_lines
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 2
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @unknown_lines(%q: tensor<512x?xf32> {graph.dims = [512, #graph.dim<"d">]}, %k: tensor<?x512xf32> {graph.dims = [#graph.dim<"d">, 512]}, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = graph.matmul %q, %k : (tensor<512x?xf32>, tensor<?x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %y : tensor<512x64xf32>
  }
}

// -----

// Not fused into attention: the GPU target has no matrix instructions.
// CHECK-LABEL: func.func @by_threads
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 2
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
  func.func @by_threads(%q: tensor<512x64xf32>, %k: tensor<64x512xf32>, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = graph.matmul %q, %k : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %y : tensor<512x64xf32>
  }
}

// -----

// Not fused: scratch memory holds float32 only, and the stack can't hold a row of dynamic length.
// REMARK-DAG: Reason="not fused into attention: a row of a type other than float32 does not fit the stack buffer"
// CHECK-LABEL: func.func @half
// CHECK: graph.matmul {{.*}}graph.fusion_group = 0
// CHECK: graph.matmul {{.*}}graph.fusion_group = 2
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @half(%q: tensor<512x64xf32>, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"n">]}, %v: tensor<?x64xbf16> {graph.dims = [#graph.dim<"n">, 64]}) -> tensor<512x64xf32> {
    %s = graph.matmul %q, %k {graph.dims = [[512, #graph.dim<"n">]]} : (tensor<512x64xf32>, tensor<64x?xf32>) -> tensor<512x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x?xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[512, #graph.dim<"n">]]} : (tensor<512x?xf32>, tensor<512x1xf32>) -> tensor<512x?xf32>
    %n = graph.cast %d {graph.dims = [[512, #graph.dim<"n">]], to = bf16} : (tensor<512x?xf32>) -> tensor<512x?xbf16>
    %y = graph.matmul %n, %v {to = f32} : (tensor<512x?xbf16>, tensor<?x64xbf16>) -> tensor<512x64xf32>
    return %y : tensor<512x64xf32>
  }
}

// -----

// An addend of the second GEMM's result is fused if it is computed after that GEMM. An addend that
// is computed before it stays separate: it would be between the two GEMMs without being row-wise.
// REMARK-DAG: Reason="an op between the two contractions is not row-wise"
// CHECK-LABEL: func.func @added
// CHECK: graph.matmul {{.*}}graph.fusion_group = [[CHAIN:.*]] :
// CHECK: graph.abs {{.*}}graph.fusion_group = [[APART:.*]] :
// CHECK-NOT: graph.fusion_group = [[APART]] :
// CHECK: graph.matmul {{.*}}graph.fusion_group = [[CHAIN]] :
// CHECK: graph.neg {{.*}}graph.fusion_group = [[CHAIN]] :
// CHECK: graph.add {{.*}}graph.fusion_group = [[CHAIN]] :
// CHECK: graph.add {{.*}}graph.fusion_group = [[CHAIN]] :
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @added(%q: tensor<512x64xf32>, %k: tensor<64x512xf32>, %v: tensor<512x64xf32>, %a: tensor<512x64xf32>, %b: tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = graph.matmul %q, %k : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %early = graph.abs %a : (tensor<512x64xf32>) -> tensor<512x64xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    %late = graph.neg %b : (tensor<512x64xf32>) -> tensor<512x64xf32>
    %r = graph.add %y, %early : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    %t = graph.add %r, %late : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %t : tensor<512x64xf32>
  }
}
