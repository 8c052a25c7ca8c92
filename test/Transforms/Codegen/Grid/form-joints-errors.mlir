// Launches that are said to be one kernel by hand, and can't be.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-form-joints

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  // expected-error@+1 {{can't be a part of a joint kernel}}
  %1 = graph.non_zero %0 {plan.joint = 0 : i64, count = "u0", graph.dims = [[1, #graph.dim<"u0">]], plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<1x?xi64>
  %2 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// -----

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a result at a place that a joint kernel does not have}}
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<alias>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @some(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %k: index) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = ["k"]>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has symbols that are no expressions: 1.0}}
  %0 = plan.launch @some(%x) symbols [1.0] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @some(%0) symbols [4] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%h0: tensor<10xf32>, %s: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  // expected-error@+1 {{has a state that a joint kernel does not have}}
  %1:2 = graph.scan %h0, %s attributes {backward = array<i1: false, true>, plan.joint = 0 : i64, numStates = 1 : i64, plan.places = [#plan.place<alias>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %2:2 = plan.launch @step(%h, %t) symbols [] {plan.places = [#plan.place<arena, 128>, #plan.place<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>)
  return %1#1 : tensor<4x10xf32>
}

// -----

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a result at a place that is not there: #plan.place<slice, 0>}}
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<slice, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a result at a place that is not there}}
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 1>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{a place of the kind output has an offset}}
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{a place of the kind arena has an offset}}
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{launches a kernel that does not say on how many threads, or of which symbols}}
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%h0: tensor<10xf32>, %s: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  %1:2 = graph.scan %h0, %s attributes {backward = array<i1: false, true>, plan.joint = 0 : i64, numStates = 1 : i64, plan.places = [#plan.place<arena, 0>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    // expected-error@+1 {{has a result at a place that is not there: #plan.place<slice, 2>}}
    %2:2 = plan.launch @step(%h, %t) symbols [] {plan.places = [#plan.place<arena, 128>, #plan.place<slice, 2>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>)
  return %1#1 : tensor<4x10xf32>
}

// -----

func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  return
}
func.func @main(%h0: tensor<10xf32>, %s: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  // expected-error@+1 {{has a 'plan.staging' that is wrong: it is a list of places in the arena and of units, of a loop}}
  %1:2 = graph.scan %h0, %s attributes {backward = array<i1: false, true>, plan.joint = 0 : i64, numStates = 1 : i64, plan.staging = [#plan.place<dynamic>], plan.places = [#plan.place<arena, 0>, #plan.place<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %2:2 = plan.launch @step(%h, %t) symbols [] {plan.places = [#plan.place<arena, 128>, #plan.place<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>)
  return %1#1 : tensor<4x10xf32>
}

// -----

func.func @main(%x: tensor<10xf32>) -> tensor<2x5xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{is to become a kernel, and launches none}}
  %0 = graph.reshape %x {plan.joint = 0 : i64, shape = [2, 5], plan.places = [#plan.place<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

memref.global "private" @memory : memref<4611686018427387904x4x4xf32, 3> = uninitialized
// expected-error@+1 {{@joint0_a has more than the 2147483647 bytes of shared memory that a block may have}}
func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  %0 = memref.get_global @memory : memref<4611686018427387904x4x4xf32, 3>
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

memref.global "private" @memory : memref<4xf32, 3> = uninitialized {alignment = 4611686018427387904}
memref.global "private" @more : memref<4xf32, 3> = uninitialized {alignment = 4611686018427387904}
// expected-error@+1 {{@joint0_a has more than the 2147483647 bytes of shared memory that a block may have}}
func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  %0 = memref.get_global @memory : memref<4xf32, 3>
  %1 = memref.get_global @more : memref<4xf32, 3>
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

memref.global "private" @memory : memref<4xvector<4xf32>, 3> = uninitialized
// expected-error@+1 {{@joint0_a has elements in shared memory that are no numbers, 'vector<4xf32>'}}
func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.grid_launch<blocks = 4, threads = 256, symbols = []>} {
  %0 = memref.get_global @memory : memref<4xvector<4xf32>, 3>
  return
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.joint = 0 : i64, plan.places = [#plan.place<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}
