// Adjacent launches become one persistent kernel if launching costs more than the kernels: the
// decision, as an attribute.
// RUN: hewn-opt %s -split-input-file --hewn-decide-persistent-kernels | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-decide-persistent-kernels --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="not merged into a persistent kernel: its kernel uses warpgroups"

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @k(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>} {
    return
  }
}
plan.kernel @flatten(tensor<2x5xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @flatten(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>} {
    return
  }
}
plan.kernel @large(tensor<2x5xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @large(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4000, threads = 256, symbols = [], traffic = 400000000>} {
    return
  }
}
plan.kernel @large_row(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @large_row(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4000, threads = 256, symbols = [], traffic = 400000000>} {
    return
  }
}
plan.kernel @groups(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @groups(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000, alone = true>} {
    return
  }
}

// Large kernels and kernels with warpgroups stay separate. Views at an end belong to no persistent
// kernel.
// CHECK-LABEL: func.func @main(
// CHECK: plan.launch @k({{.*}}plan.persistent = 0
// CHECK: plan.launch @k({{.*}}plan.persistent = 0
// CHECK: graph.reshape
// CHECK-NOT: plan.persistent
// CHECK: plan.launch @large
// CHECK-NOT: plan.persistent
// CHECK: plan.launch @k({{.*}}plan.persistent = 1
// CHECK: graph.reshape {{.*}}plan.persistent = 1
// CHECK: plan.launch @flatten({{.*}}plan.persistent = 1
// CHECK: plan.launch @groups
// CHECK-NOT: plan.persistent
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 256 : i64} {
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %2 = graph.reshape %1 {shape = [2, 5], plan.buffers = [#plan.buffer<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  %3 = plan.launch @large(%2) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<2x5xf32>) -> tensor<10xf32>
  %4 = plan.launch @k(%3) symbols [] {plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %5 = graph.reshape %4 {shape = [2, 5], plan.buffers = [#plan.buffer<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  %6 = plan.launch @flatten(%5) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<2x5xf32>) -> tensor<10xf32>
  %7 = plan.launch @groups(%6) symbols [] {plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %8 = plan.launch @large_row(%7) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %8 : tensor<10xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @k(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>} {
    return
  }
}
plan.kernel @two(tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) attributes {symbols = []} {
  func.func @two(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %d: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>} {
    return
  }
}
plan.kernel @three(tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) attributes {symbols = []} {
  func.func @three(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>, %d: memref<?xf32>, %e: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>} {
    return
  }
}

// A scan is merged as a whole if its states are independent or one of them becomes another; if the
// host has to pass a state, for instance one without planned memory, only the step's body is
// merged.
// CHECK-LABEL: func.func @main(
// CHECK: plan.launch @k({{.*}}plan.persistent = 0
// CHECK: graph.scan {{.*}}plan.persistent = 0
// CHECK: graph.scan {{.*}}plan.persistent = 0
// CHECK-NOT: plan.persistent
// CHECK: graph.scan
// CHECK-NOT: plan.persistent
// CHECK: plan.launch @k({{.*}}plan.persistent = 1
// CHECK: plan.launch @two({{.*}}plan.persistent = 1
func.func @main(%x: tensor<10xf32>, %s: tensor<100x10xf32>) -> (tensor<100x10xf32>, tensor<100x10xf32>) attributes {plan.arena_bytes = 512 : i64} {
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1:2 = graph.scan %0, %s attributes {backward = array<i1: false, false>, numStates = 1 : i64, plan.buffers = [#plan.buffer<arena, 64>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %3 = plan.launch @k(%h) symbols [] {plan.buffers = [#plan.buffer<arena, 128>]} : (tensor<10xf32>) -> tensor<10xf32>
    %4:2 = plan.launch @two(%3, %t) symbols [] {plan.buffers = [#plan.buffer<arena, 192>, #plan.buffer<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %4#0, %4#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<100x10xf32>) -> (tensor<10xf32>, tensor<100x10xf32>)
  %2:3 = graph.scan %0, %0, %s attributes {backward = array<i1: false, false>, numStates = 2 : i64, plan.buffers = [#plan.buffer<arena, 64>, #plan.buffer<arena, 256>, #plan.buffer<output, 1>]} {
  ^bb0(%h: tensor<10xf32>, %g: tensor<10xf32>, %t: tensor<10xf32>):
    %3 = plan.launch @k(%h) symbols [] {plan.buffers = [#plan.buffer<arena, 128>]} : (tensor<10xf32>) -> tensor<10xf32>
    %4:2 = plan.launch @three(%3, %g, %t) symbols [] {plan.buffers = [#plan.buffer<arena, 192>, #plan.buffer<slice, 2>]} : (tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %4#0, %h, %4#1 : tensor<10xf32>, tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<10xf32>, tensor<100x10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<100x10xf32>)
  %5:2 = graph.scan %0, %s attributes {backward = array<i1: false, false>, numStates = 1 : i64, plan.buffers = [#plan.buffer<dynamic>, #plan.buffer<output, 1>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %3 = plan.launch @k(%h) symbols [] {plan.buffers = [#plan.buffer<arena, 128>]} : (tensor<10xf32>) -> tensor<10xf32>
    %4:2 = plan.launch @two(%3, %t) symbols [] {plan.buffers = [#plan.buffer<arena, 192>, #plan.buffer<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %4#0, %4#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<100x10xf32>) -> (tensor<10xf32>, tensor<100x10xf32>)
  return %1#1, %5#1 : tensor<100x10xf32>, tensor<100x10xf32>
}
}

// -----

// No persistent kernels on targets whose blocks are not all resident at once.
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @k(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @k(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], traffic = 4000>} {
    return
  }
}
// CHECK-LABEL: func.func @main(
// CHECK-NOT: plan.persistent
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 256 : i64} {
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}
}

// -----

// All phases of a persistent kernel get the registers and threads of the largest: if a
// multiprocessor does not have that many, there are two kernels.
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @many(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @many(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 1024, symbols = [], traffic = 4000>} {
    return
  }
}
plan.kernel @large(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @large(%ctx: !llvm.ptr, %a: memref<?xf32>, %b: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], registers = 200, traffic = 4000>} {
    return
  }
}
// CHECK-LABEL: func.func @main(
// CHECK: plan.launch @many({{.*}}plan.persistent = 0
// CHECK: plan.launch @many({{.*}}plan.persistent = 0
// CHECK: plan.launch @large({{.*}}plan.persistent = 1
// CHECK: plan.launch @large({{.*}}plan.persistent = 1
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 256 : i64} {
  %0 = plan.launch @many(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @many(%0) symbols [] {plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %2 = plan.launch @large(%1) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %3 = plan.launch @large(%2) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %3 : tensor<10xf32>
}
}
