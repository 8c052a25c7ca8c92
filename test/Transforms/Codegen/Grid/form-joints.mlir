// Launches of one number become one kernel: its parts, and a meeting of all blocks where one part needs what another has made.
// RUN: hewn-opt %s -split-input-file --hewn-form-joints | FileCheck %s
// RUN: hewn-opt %s -split-input-file --hewn-form-joints --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The first two parts don't touch each other's memory; the third one, of fewer threads, reads what both have made.
// CHECK: func.func private @joint0_a(
// CHECK: func.func private @joint0_meet(%[[AT:.*]]: i64)
// CHECK: grid.barrier
// CHECK: scf.if
// CHECK: grid.counter_add %[[AT]], %{{.*}}
// CHECK: scf.while
// CHECK: grid.counter_read %[[AT]]
// CHECK: grid.barrier
// CHECK: func.func private @joint0_b(
// CHECK: grid.barrier of 128
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: plan.launch_info = #plan.grid_launch<blocks = 7, threads = 256, symbols = [], meets = true, counters = 1>
// CHECK: call @joint0_a(
// CHECK-NOT: call @joint0_meet
// CHECK: grid.barrier
// CHECK-NOT: call @joint0_meet
// CHECK: call @joint0_a(
// CHECK: call @joint0_meet(
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: func.call @joint0_b(
// CHECK: return
// CHECK-LABEL: func.func @main(
// CHECK: %[[OUT:.*]] = plan.launch @joint0(%arg0) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
// CHECK-NEXT: %[[VIEW:.*]] = graph.reshape %[[OUT]]
// CHECK-NEXT: return %[[OUT]], %[[VIEW]]
func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @b(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 7, threads = 128, symbols = []>} {
  grid.barrier
  return
}
func.func @main(%x: tensor<10xf32>) -> (tensor<10xf32>, tensor<2x5xf32>) attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 64>]} : (tensor<10xf32>) -> tensor<10xf32>
  %2 = plan.launch @b(%0, %1) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xf32>
  %3 = graph.reshape %2 {plan.joint = 0 : i64, shape = [2, 5], plan.places = [#plan.place<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  return %2, %3 : tensor<10xf32>, tensor<2x5xf32>
}

// -----

// A scan: its state is made in a buffer of its own, which takes turns with the state's place, and its slice of the output. Nobody
// reads its last value, so it is copied nowhere; its first one, which a launch has made, is.
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: index, %[[ARENA:.*]]: memref<?xi8>, %{{.*}}: memref<?xi8>) attributes {{.*}}#plan.grid_launch<blocks = "max(4, floordiv(n + 255, 256))"
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
func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>, %n: index) attributes {plan.launch_info = #plan.grid_launch<blocks = "floordiv(k + 255, 256)", threads = 256, symbols = ["k"]>} {
  return
}
func.func @main(%x: tensor<10xf32>, %s: tensor<?x10xf32> {graph.dims = [#graph.dim<"n">, 10]}) -> tensor<?x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1:2 = graph.scan %0, %s attributes {backward = array<i1: false, true>, graph.dims = [[10], [#graph.dim<"n">, 10]], plan.joint = 0 : i64, numStates = 1 : i64, plan.places = [#plan.place<arena, 64>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %2:2 = plan.launch @step(%h, %t) symbols [#graph.dim<"n">] {plan.places = [#plan.place<arena, 128>, #plan.place<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<?x10xf32>) -> (tensor<10xf32>, tensor<?x10xf32>)
  return %1#1 : tensor<?x10xf32>
}

// -----

// The blocks of parts that come again and again are asked for once.
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: #plan.grid_launch<blocks = "max(2*n, max(7, n))"
func.func @some(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %k: index) attributes {plan.launch_info = #plan.grid_launch<blocks = "k", threads = 256, symbols = ["k"]>} {
  return
}
func.func @seven(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 7, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}) -> tensor<?xf32> attributes {plan.arena_bytes = #graph.dim<"16*n">} {
  %0 = plan.launch @some(%x) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]], plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = plan.launch @seven(%0) symbols [] {graph.dims = [[#graph.dim<"n">]], plan.joint = 0 : i64, plan.places = [#plan.place<arena, "4*n">]} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = plan.launch @some(%1) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">]], plan.joint = 0 : i64, plan.places = [#plan.place<arena, "8*n">]} : (tensor<?xf32>) -> tensor<?xf32>
  %3 = plan.launch @seven(%2) symbols [] {graph.dims = [[#graph.dim<"n">]], plan.joint = 0 : i64, plan.places = [#plan.place<arena, "12*n">]} : (tensor<?xf32>) -> tensor<?xf32>
  %4 = plan.launch @some(%3) symbols [#graph.dim<"2*n">] {graph.dims = [[#graph.dim<"n">]], plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<?xf32>) -> tensor<?xf32>
  return %4 : tensor<?xf32>
}

// -----

// What blocks keep comes before the loop, and is read in it; nobody else needs the function that reads it in memory.
// CHECK-LABEL: func.func @joint0(
// CHECK-SAME: sharedBytes = 65536
// CHECK: call @joint0_step_keep(
// CHECK: scf.for
// CHECK: call @joint0_step_kept(
// CHECK-NOT: func.func @step
// CHECK-LABEL: func.func @main(
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
memref.global "private" @step_kept_memory : memref<16384xf32, 3> = uninitialized {alignment = 16 : i64}
func.func @step(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], keeps = 1, keptBytes = 65536>} {
  return
}
func.func private @step_keep(%ctx: !llvm.ptr, %w: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<threads = 256, symbols = []>} {
  %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
  return
}
func.func private @step_kept(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
  return
}
func.func @main(%s: tensor<1x64xf32>, %x: tensor<9x1x64xf32>) -> tensor<9x1x64xf32> attributes {plan.arena_bytes = 512 : i64} {
  %w = graph.constant {value = dense<1.0> : tensor<64x64xf32>} : tensor<64x64xf32>
  %0:2 = graph.scan %s, %x attributes {backward = array<i1: false, false>, plan.joint = 0 : i64, numStates = 1 : i64, plan.places = [#plan.place<arena, 0>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<1x64xf32>, %t: tensor<1x64xf32>):
    %1 = plan.launch @step(%h, %w) symbols [] {plan.places = [#plan.place<slice, 1>]} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    graph.yield %1, %1 : tensor<1x64xf32>, tensor<1x64xf32>
  } : (tensor<1x64xf32>, tensor<9x1x64xf32>) -> (tensor<1x64xf32>, tensor<9x1x64xf32>)
  return %0#1 : tensor<9x1x64xf32>
}
}

// -----

// More than a block has room for stays in memory.
// CHECK-LABEL: func.func @joint0(
// CHECK-NOT: call @joint0_step_keep(
// CHECK: scf.for
// CHECK: call @joint0_step(
// REMARK: NotKept | {{.*}}Reason="its constant has no room in a block's shared memory beside what other kernels of the loop keep"
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
memref.global "private" @step_kept_memory : memref<16384xf32, 3> = uninitialized {alignment = 16 : i64}
func.func @step(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = [], keeps = 1, keptBytes = 166912>} {
  return
}
func.func private @step_keep(%ctx: !llvm.ptr, %w: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<threads = 256, symbols = []>} {
  %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
  return
}
func.func private @step_kept(%ctx: !llvm.ptr, %h: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  %0 = memref.get_global @step_kept_memory : memref<16384xf32, 3>
  return
}
func.func @main(%s: tensor<1x64xf32>, %x: tensor<9x1x64xf32>) -> tensor<9x1x64xf32> attributes {plan.arena_bytes = 512 : i64} {
  %w = graph.constant {value = dense<1.0> : tensor<64x64xf32>} : tensor<64x64xf32>
  %0:2 = graph.scan %s, %x attributes {backward = array<i1: false, false>, plan.joint = 0 : i64, numStates = 1 : i64, plan.places = [#plan.place<arena, 0>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<1x64xf32>, %t: tensor<1x64xf32>):
    %1 = plan.launch @step(%h, %w) symbols [] {plan.places = [#plan.place<slice, 1>]} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
    graph.yield %1, %1 : tensor<1x64xf32>, tensor<1x64xf32>
  } : (tensor<1x64xf32>, tensor<9x1x64xf32>) -> (tensor<1x64xf32>, tensor<9x1x64xf32>)
  return %0#1 : tensor<9x1x64xf32>
}
}

// -----

// While blocks meet they ask for a constant that is read behind that meeting, or behind the next one: as much of it as memory gives meanwhile.
// CHECK-LABEL: func.func private @joint0_meet_prefetching(
// CHECK-SAME: %[[AT:.*]]: i64, %[[FIRST:.*]]: i64, %[[END:.*]]: i64)
// CHECK: grid.counter_read %[[AT]] {relaxed}
// CHECK: grid.counter_add %[[AT]]
// CHECK: %[[FROM:.*]] = arith.addi %[[FIRST]]
// CHECK: scf.for %[[BYTE:.*]] = %[[FROM]] to %[[END]]
// CHECK: grid.prefetch %[[BYTE]]
// CHECK: scf.while
// CHECK: grid.counter_read %[[AT]]
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
// CHECK: call @joint0_b(
#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, gridBarrierCycles = 1500, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, limits = #limits, costs = #gridCosts>>} {
func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @b(%ctx: !llvm.ptr, %x: memref<?xf32>, %w: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<128xf32>) -> tensor<128xf32> attributes {plan.arena_bytes = 1536 : i64} {
  %w = graph.constant {value = dense<1.0> : tensor<128x128xf32>} : tensor<128x128xf32>
  %v = graph.constant {value = dense<2.0> : tensor<128x4096xf32>} : tensor<128x4096xf32>
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<128xf32>) -> tensor<128xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 512>]} : (tensor<128xf32>) -> tensor<128xf32>
  %2 = plan.launch @b(%1, %w) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 1024>]} : (tensor<128xf32>, tensor<128x128xf32>) -> tensor<128xf32>
  %3 = plan.launch @b(%2, %v) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<128xf32>, tensor<128x4096xf32>) -> tensor<128xf32>
  return %3 : tensor<128xf32>
}
}
