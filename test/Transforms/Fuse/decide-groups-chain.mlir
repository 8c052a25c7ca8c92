// Rows between two contractions: one kernel where all the rows together are too many for the cache.
// RUN: hewn-opt %s --split-input-file --hewn-decide-groups | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-decide-groups --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: NotChained | {{.*}}Reason="others read what is between the two contractions"
// REMARK-DAG: Reason="all rows of the first product fit the cache"
// REMARK-DAG: Reason="lines of its factors are too long for sums in registers"
// REMARK-DAG: Reason="how long the lines of its factors are is known only when run"
// REMARK-DAG: Reason="the machine has no matrix instruction for such products"

#machine = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>

// CHECK-LABEL: func.func @attention
// CHECK: graph.matmul {{.*}}graph.in_group = 0 : i64, graph.why = "a row of the first product is used up by the second
// CHECK: graph.reduce_max {{.*}}graph.in_group = 0
// CHECK: graph.exp {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.relu {{.*}}graph.in_group = 0
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

// Left alone: so few rows that all of them stay in the cache.
// CHECK-LABEL: func.func @small
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 2
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @small(%q: tensor<16x64xf32>, %k: tensor<64x16xf32>, %v: tensor<16x64xf32>) -> tensor<16x64xf32> {
    %s = graph.matmul %q, %k : (tensor<16x64xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
    %d = graph.sub %s, %m : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    %y = graph.matmul %d, %v : (tensor<16x16xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    return %y : tensor<16x64xf32>
  }
}

// -----

// Left alone: the scores are a result too.
// CHECK-LABEL: func.func @seen
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 2
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @seen(%q: tensor<512x64xf32>, %k: tensor<64x512xf32>, %v: tensor<512x64xf32>) -> (tensor<512x64xf32>, tensor<512x512xf32>) {
    %s = graph.matmul %q, %k : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %y, %s : tensor<512x64xf32>, tensor<512x512xf32>
  }
}

// -----

// Rows of unknown length don't fit a stack for sure: they will get memory.
// CHECK-LABEL: func.func @unknown
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 0
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @unknown(%q: tensor<?x64xf32> {graph.dims = [#graph.dim<"m">, 64]}, %k: tensor<64x?xf32> {graph.dims = [64, #graph.dim<"n">]}, %v: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}) -> tensor<?x64xf32> {
    %s = graph.matmul %q, %k {graph.dims = [[#graph.dim<"m">, #graph.dim<"n">]]} : (tensor<?x64xf32>, tensor<64x?xf32>) -> tensor<?x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[#graph.dim<"m">, 1]]} : (tensor<?x?xf32>) -> tensor<?x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[#graph.dim<"m">, #graph.dim<"n">]]} : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
    %y = graph.matmul %d, %v {graph.dims = [[#graph.dim<"m">, 64]]} : (tensor<?x?xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

// On a grid rows stay in registers, however few they are, and there is no memory for them.
// CHECK-LABEL: func.func @grid
// CHECK-NOT: graph.scratch
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 0
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
  func.func @grid(%q: tensor<8x64xf32>, %k: tensor<64x16xf32>, %v: tensor<16x64xf32>) -> tensor<8x64xf32> {
    %s = graph.matmul %q, %k : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<8x16xf32>) -> tensor<8x1xf32>
    %d = graph.sub %s, %m : (tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<8x16xf32>
    %y = graph.matmul %d, %v : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    return %y : tensor<8x64xf32>
  }
}

// -----

// Left alone: sums of lines so long don't fit into registers.
// CHECK-LABEL: func.func @long_lines
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 2
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
  func.func @long_lines(%q: tensor<512x256xf32>, %k: tensor<256x512xf32>, %v: tensor<512x256xf32>) -> tensor<512x256xf32> {
    %s = graph.matmul %q, %k : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x256xf32>) -> tensor<512x256xf32>
    return %y : tensor<512x256xf32>
  }
}

// -----

// Left alone: nor do sums of lines whose length is known only when run.
// CHECK-LABEL: func.func @unknown_lines
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 2
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {
  func.func @unknown_lines(%q: tensor<512x?xf32> {graph.dims = [512, #graph.dim<"d">]}, %k: tensor<?x512xf32> {graph.dims = [#graph.dim<"d">, 512]}, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = graph.matmul %q, %k : (tensor<512x?xf32>, tensor<?x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %y : tensor<512x64xf32>
  }
}

// -----

// Left alone: a machine without matrix instructions.
// CHECK-LABEL: func.func @by_threads
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 2
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
  func.func @by_threads(%q: tensor<512x64xf32>, %k: tensor<64x512xf32>, %v: tensor<512x64xf32>) -> tensor<512x64xf32> {
    %s = graph.matmul %q, %k : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
    %d = graph.sub %s, %m : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
    %y = graph.matmul %d, %v : (tensor<512x512xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
    return %y : tensor<512x64xf32>
  }
}

// -----

// Left alone: scratch memory is float32's, and the stack holds no row whose length is not known.
// REMARK-DAG: Reason="a row of other elements than float32 is too long for the stack"
// CHECK-LABEL: func.func @half
// CHECK: graph.matmul {{.*}}graph.in_group = 0
// CHECK: graph.matmul {{.*}}graph.in_group = 2
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
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

// What is added to the second product's result is computed in the chain where it is made behind it. What is made before it stays apart: it would stand between
// the two products, whose rows it is none of.
// REMARK-DAG: Reason="an op between the two contractions does not keep their rows apart"
// CHECK-LABEL: func.func @added
// CHECK: graph.matmul {{.*}}graph.in_group = [[CHAIN:.*]] :
// CHECK: graph.abs {{.*}}graph.in_group = [[APART:.*]] :
// CHECK-NOT: graph.in_group = [[APART]] :
// CHECK: graph.matmul {{.*}}graph.in_group = [[CHAIN]] :
// CHECK: graph.neg {{.*}}graph.in_group = [[CHAIN]] :
// CHECK: graph.add {{.*}}graph.in_group = [[CHAIN]] :
// CHECK: graph.add {{.*}}graph.in_group = [[CHAIN]] :
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
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
