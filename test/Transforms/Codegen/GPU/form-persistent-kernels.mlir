// Launches with the same plan.persistent number become one kernel: its phases, and a grid-wide
// barrier where a phase reads the result of another.
// RUN: hewn-opt %s -split-input-file --hewn-form-persistent-kernels | FileCheck %s
// RUN: hewn-opt %s -split-input-file --hewn-form-persistent-kernels --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The first two phases of the persistent kernel do not access each other's memory, so that no
// barrier is between them. The third phase, with fewer threads, reads the results of both.
// CHECK: func.func private @joint0_a(
// CHECK: func.func private @joint0_meet(%[[AT:.*]]: i64)
// CHECK: simt.barrier
// CHECK: scf.if
// CHECK: simt.counter_add %[[AT]], %{{.*}}
// CHECK: scf.while
// CHECK: simt.counter_read %[[AT]]
// CHECK: simt.barrier
// CHECK: func.func private @joint0_b(
// CHECK: simt.barrier of 128
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: plan.launch_info = #plan.gpu_launch<blocks = 7, threads = 256, symbols = [], meets = true, counters = 1>
// CHECK: call @joint0_a(
// CHECK-NOT: call @joint0_meet
// CHECK: simt.barrier
// CHECK-NOT: call @joint0_meet
// CHECK: call @joint0_a(
// CHECK: call @joint0_meet(
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: func.call @joint0_b(
// CHECK: return
// CHECK-LABEL: func.func @main(
// CHECK: %[[OUT:.*]] = plan.launch @joint0(%arg0) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT: %[[VIEW:.*]] = graph.reshape %[[OUT]]
// CHECK-NEXT: return %[[OUT]], %[[VIEW]]
plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
plan.kernel @b(tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @b(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 7, threads = 128, symbols = []>} {
    simt.barrier
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<2x5xf32>) attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %2 = plan.launch @b(%0, %1) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %3 = graph.reshape %2 {plan.persistent = 0 : i64, shape = [2, 5], plan.buffers = [#plan.buffer<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  return %2, %3 : tensor<10xf32>, tensor<2x5xf32>
}

// -----

// A scan in a persistent kernel: each step computes the next state in a second buffer, swaps this
// buffer with that of the state, and writes the scan's output slice in place. The final state has
// no uses and is not copied; the initial state, the result of a launch, is copied.
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: index, %[[ARENA:.*]]: memref<?xi8>, %{{.*}}: memref<?xi8>) attributes {{.*}}#plan.gpu_launch<blocks = "max(4, floordiv(n + 255, 256))"
// CHECK: call @joint0_a(
// CHECK: call @joint0_meet(
// CHECK: scf.for
// CHECK: memref.store
// CHECK: scf.for {{.*}} iter_args(%[[NOW:.*]] = %{{.*}}, %[[NEXT:.*]] = %{{.*}}, %[[LATER:.*]] = %{{.*}}) -> (memref<?xi8>, memref<?xi8>, memref<?xi8>)
// CHECK: call @joint0_meet(
// CHECK: call @joint0_step(
// CHECK: scf.yield %[[NEXT]], %[[LATER]], %[[NEXT]]
// CHECK-NOT: joint0_meet
// CHECK: return
plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
plan.kernel @step(tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) attributes {symbols = ["k"]} {
  func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) attributes {plan.launch_info = #plan.gpu_launch<blocks = "floordiv(k + 255, 256)", threads = 256, symbols = ["k"]>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>, %s: tensor<?x10xf32> {graph.dims = [#graph.dim<"n">, 10]}) -> tensor<?x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1:2 = graph.scan %0, %s attributes {backward = array<i1: false, true>, graph.dims = [[10], [#graph.dim<"n">, 10]], plan.persistent = 0 : i64, numStates = 1 : i64, plan.buffers = [#plan.buffer<arena, 64>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %2:2 = plan.launch @step(%h, %t) symbols [#graph.dim<"n">] {plan.buffers = [#plan.buffer<arena, 128>, #plan.buffer<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<?x10xf32>) -> (tensor<10xf32>, tensor<?x10xf32>)
  return %1#1 : tensor<?x10xf32>
}

// -----

// A persistent kernel computes the number of blocks of the phases in a loop once, before the loop.
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: #plan.gpu_launch<blocks = "max(2*n, max(7, n))"
plan.kernel @some(tensor<?xf32>) -> tensor<?xf32> attributes {symbols = ["k"]} {
  func.func @some(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %k: index) attributes {plan.launch_info = #plan.gpu_launch<blocks = "k", threads = 256, symbols = ["k"]>} {
    return
  }
}
plan.kernel @seven(tensor<?xf32>) -> tensor<?xf32> attributes {symbols = []} {
  func.func @seven(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 7, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}) -> tensor<?xf32> attributes {plan.arena_bytes = #graph.dim<"16*n">} {
  %0 = plan.launch @some(%x) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]], plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = plan.launch @seven(%0) symbols [] {graph.dims = [[#graph.dim<"n">]], plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, "4*n">]} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = plan.launch @some(%1) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]], plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, "8*n">]} : (tensor<?xf32>) -> tensor<?xf32>
  %3 = plan.launch @seven(%2) symbols [] {graph.dims = [[#graph.dim<"n">]], plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, "12*n">]} : (tensor<?xf32>) -> tensor<?xf32>
  %4 = plan.launch @some(%3) symbols [#graph.dim<"2*n">] {graph.dims = [[#graph.dim<"n">]], plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<?xf32>) -> tensor<?xf32>
  return %4 : tensor<?xf32>
}

// -----

// The persistent kernel loads resident weights into shared memory before the loop and reads them
// there in each step. The kernel function that reads the weights from global memory then has no
// uses and is erased.
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: sharedBytes = 65536
// CHECK: call @joint0_step_keep(
// CHECK: scf.for
// CHECK: call @joint0_step_kept(
// CHECK-NOT: func.func @step
// CHECK-LABEL: func.func @main(
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @step(tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  memref.global "private" @step_kept_memory : memref<16384xf32, 3> = uninitialized {alignment = 16 : i64}
  func.func @step(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], keeps = 1, keptBytes = 65536>} {
    return
  }
  func.func private @step_keep(%ctx: !llvm.ptr, %w: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<threads = 256, symbols = []>} {
    %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
    return
  }
  func.func private @step_kept(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
    return
  }
}
func.func @main(%s: tensor<1x64xf32>, %x: tensor<9x1x64xf32>) -> tensor<9x1x64xf32> attributes {plan.arena_bytes = 512 : i64} {
  %w = graph.constant {value = dense<1.0> : tensor<64x64xf32>} : tensor<64x64xf32>
  %0:2 = graph.scan %s, %x attributes {backward = array<i1: false, false>, plan.persistent = 0 : i64, numStates = 1 : i64, plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<1x64xf32>, %t: tensor<1x64xf32>):
    %1 = plan.launch @step(%h, %w) symbols [] {plan.buffers = [#plan.buffer<slice, 1>]} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    graph.yield %1, %1 : tensor<1x64xf32>, tensor<1x64xf32>
  } : (tensor<1x64xf32>, tensor<9x1x64xf32>) -> (tensor<1x64xf32>, tensor<9x1x64xf32>)
  return %0#1 : tensor<9x1x64xf32>
}
}

// -----

// Weights that exceed a block's shared memory stay in global memory.
// CHECK-LABEL: func.func @joint0(
// CHECK-NOT: call @joint0_step_keep(
// CHECK: scf.for
// CHECK: call @joint0_step(
// REMARK: NotKept | {{.*}}Reason="its weights do not fit a block's shared memory together with resident weights of the loop's other kernels"
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @step(tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  memref.global "private" @step_kept_memory : memref<16384xf32, 3> = uninitialized {alignment = 16 : i64}
  func.func @step(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = [], keeps = 1, keptBytes = 166912>} {
    return
  }
  func.func private @step_keep(%ctx: !llvm.ptr, %w: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<threads = 256, symbols = []>} {
    %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
    return
  }
  func.func private @step_kept(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
    return
  }
}
func.func @main(%s: tensor<1x64xf32>, %x: tensor<9x1x64xf32>) -> tensor<9x1x64xf32> attributes {plan.arena_bytes = 512 : i64} {
  %w = graph.constant {value = dense<1.0> : tensor<64x64xf32>} : tensor<64x64xf32>
  %0:2 = graph.scan %s, %x attributes {backward = array<i1: false, false>, plan.persistent = 0 : i64, numStates = 1 : i64, plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<1x64xf32>, %t: tensor<1x64xf32>):
    %1 = plan.launch @step(%h, %w) symbols [] {plan.buffers = [#plan.buffer<slice, 1>]} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    graph.yield %1, %1 : tensor<1x64xf32>, tensor<1x64xf32>
  } : (tensor<1x64xf32>, tensor<9x1x64xf32>) -> (tensor<1x64xf32>, tensor<9x1x64xf32>)
  return %0#1 : tensor<9x1x64xf32>
}
}

// -----

// While blocks wait at a barrier, they prefetch a constant that is read after this barrier or the
// next one: as many bytes as memory delivers in that time.
// CHECK-LABEL: func.func private @joint0_meet_prefetching(
// CHECK-SAME: %[[AT:.*]]: i64, %[[FIRST:.*]]: i64, %[[END:.*]]: i64)
// CHECK: simt.counter_read %[[AT]] {relaxed}
// CHECK: simt.counter_add %[[AT]]
// CHECK: %[[FROM:.*]] = arith.addi %[[FIRST]]
// CHECK: scf.for %[[BYTE:.*]] = %[[FROM]] to %[[END]]
// CHECK: simt.prefetch %[[BYTE]]
// CHECK: scf.while
// CHECK: simt.counter_read %[[AT]]
// CHECK-LABEL: func.func @joint0(
// CHECK: call @joint0_a(
// CHECK: %[[BYTES:.*]] = arith.constant 65536 : i64
// CHECK: %[[LAST:.*]] = arith.addi %[[BEGIN:.*]], %[[BYTES]]
// CHECK: call @joint0_meet_prefetching(%{{.*}}, %[[BEGIN]], %[[LAST]])
// CHECK: call @joint0_a(
// CHECK: arith.constant 1500000 : i64
// CHECK: call @joint0_meet_prefetching(
// CHECK: call @joint0_b(
// CHECK: call @joint0_meet(
// CHECK: call @joint0_c(
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @a(tensor<128xf32>) -> tensor<128xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
plan.kernel @b(tensor<128xf32>, tensor<128x128xf32>) -> tensor<128xf32> attributes {symbols = []} {
  func.func @b(%ctx: !llvm.ptr, %x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
plan.kernel @c(tensor<128xf32>, tensor<128x4096xf32>) -> tensor<128xf32> attributes {symbols = []} {
  func.func @c(%ctx: !llvm.ptr, %x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<128xf32>) -> tensor<128xf32> attributes {plan.arena_bytes = 1536 : i64} {
  %w = graph.constant {value = dense<1.0> : tensor<128x128xf32>} : tensor<128x128xf32>
  %v = graph.constant {value = dense<2.0> : tensor<128x4096xf32>} : tensor<128x4096xf32>
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<128xf32>) -> tensor<128xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 512>]} : (tensor<128xf32>) -> tensor<128xf32>
  %2 = plan.launch @b(%1, %w) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 1024>]} : (tensor<128xf32>, tensor<128x128xf32>) -> tensor<128xf32>
  %3 = plan.launch @c(%2, %v) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<128xf32>, tensor<128x4096xf32>) -> tensor<128xf32>
  return %3 : tensor<128xf32>
}
}

// -----

// Independent phases between two barriers run on disjoint blocks, whose number is the sum of their
// blocks, at most one block per multiprocessor. Each phase subtracts its first block from the block
// index.
// CHECK-LABEL: func.func private @joint0_a(
// CHECK-SAME: %[[FIRST:arg[0-9]+]]: i32)
// CHECK: %[[ID:.*]] = simt.block_id
// CHECK: %[[ALL:.*]] = simt.num_blocks
// CHECK: %[[BEFORE:.*]] = arith.cmpi ult, %[[ID]], %[[FIRST]]
// CHECK: %[[BEHIND:.*]] = arith.subi %[[ID]], %[[FIRST]]
// CHECK: %[[AROUND:.*]] = arith.addi %[[BEHIND]], %[[ALL]]
// CHECK: arith.select %[[BEFORE]], %[[AROUND]], %[[BEHIND]]
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: #plan.gpu_launch<blocks = 108, threads = 256
// CHECK: %[[BLOCKS:.*]] = simt.num_blocks
// CHECK: %[[C0:.*]] = arith.constant 0 : i32
// CHECK: call @joint0_a({{.*}}, %[[C0]])
// CHECK: simt.barrier
// CHECK: %[[C70:.*]] = arith.constant 70 : i32
// CHECK: %[[NEXT:.*]] = arith.remui %[[C70]], %[[BLOCKS]]
// CHECK: call @joint0_a({{.*}}, %[[NEXT]])
// CHECK: call @joint0_meet
// CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
// CHECK: call @joint0_b({{.*}}, %[[ZERO]])
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gpuCosts>} {
plan.kernel @a(tensor<70xf32>) -> tensor<70xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 70, threads = 256, symbols = []>} {
    %0 = simt.block_id
    %1 = arith.index_castui %0 : i32 to index
    %2 = memref.load %x[%1] : memref<?xf32>
    memref.store %2, %y[%1] : memref<?xf32>
    return
  }
}
plan.kernel @b(tensor<70xf32>, tensor<70xf32>) -> tensor<70xf32> attributes {symbols = []} {
  func.func @b(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 7, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<70xf32>) -> tensor<70xf32> attributes {plan.arena_bytes = 1024 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<70xf32>) -> tensor<70xf32>
  %1 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 512>]} : (tensor<70xf32>) -> tensor<70xf32>
  %2 = plan.launch @b(%0, %1) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<70xf32>, tensor<70xf32>) -> tensor<70xf32>
  return %2 : tensor<70xf32>
}
}
