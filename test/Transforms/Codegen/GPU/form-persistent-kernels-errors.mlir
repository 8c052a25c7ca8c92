// Launches with a hand-written plan.persistent attribute that can't be merged.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-form-persistent-kernels

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  // expected-error@+1 {{cannot be a phase of a persistent kernel}}
  %1 = graph.non_zero %0 {plan.persistent = 0 : i64, count = "u0", graph.dims = [[1, #graph.dim<"u0">]], plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<1x?xi64>
  %2 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %2 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a result whose buffer is not available in the persistent kernel}}
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<alias>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @some(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = ["k"]} {
  func.func @some(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>, %k: index) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = ["k"]>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a symbol value that is not an expression: 1.0}}
  %0 = plan.launch @some(%x) symbols [1.0] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @some(%0) symbols [4] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @step(tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) attributes {symbols = []} {
  func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%h0: tensor<10xf32>, %s: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  // expected-error@+1 {{has a loop-carried value whose buffer is not available in the persistent kernel}}
  %1:2 = graph.scan %h0, %s attributes {backward = array<i1: false, true>, plan.persistent = 0 : i64, numStates = 1 : i64, plan.buffers = [#plan.buffer<alias>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %2:2 = plan.launch @step(%h, %t) symbols [] {plan.buffers = [#plan.buffer<arena, 128>, #plan.buffer<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>)
  return %1#1 : tensor<4x10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<slice, 0>}}
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<slice, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{has a result in an output or sequence that does not exist}}
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 1>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{a buffer of kind 'output' needs an offset}}
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{a buffer of kind 'arena' needs an offset}}
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) {
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{launches a kernel without launch information, or with another number of symbols}}
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @step(tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) attributes {symbols = []} {
  func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%h0: tensor<10xf32>, %s: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  %1:2 = graph.scan %h0, %s attributes {backward = array<i1: false, true>, plan.persistent = 0 : i64, numStates = 1 : i64, plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<slice, 2>}}
    %2:2 = plan.launch @step(%h, %t) symbols [] {plan.buffers = [#plan.buffer<arena, 128>, #plan.buffer<slice, 2>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>)
  return %1#1 : tensor<4x10xf32>
}

// -----

plan.kernel @step(tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>) attributes {symbols = []} {
  func.func @step(%ctx: !llvm.ptr, %x: memref<?xf32>, %t: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    return
  }
}
func.func @main(%h0: tensor<10xf32>, %s: tensor<4x10xf32>) -> tensor<4x10xf32> attributes {plan.arena_bytes = 192 : i64} {
  // expected-error@+1 {{has a 'plan.staging' that is invalid: it must be a list of arena buffers and units on a loop}}
  %1:2 = graph.scan %h0, %s attributes {backward = array<i1: false, true>, plan.persistent = 0 : i64, numStates = 1 : i64, plan.staging = [#plan.buffer<dynamic>], plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<output, 0>]} {
  ^bb0(%h: tensor<10xf32>, %t: tensor<10xf32>):
    %2:2 = plan.launch @step(%h, %t) symbols [] {plan.buffers = [#plan.buffer<arena, 128>, #plan.buffer<slice, 1>]} : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>)
    graph.yield %2#0, %2#1 : tensor<10xf32>, tensor<10xf32>
  } : (tensor<10xf32>, tensor<4x10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>)
  return %1#1 : tensor<4x10xf32>
}

// -----

func.func @main(%x: tensor<10xf32>) -> tensor<2x5xf32> attributes {plan.arena_bytes = 128 : i64} {
  // expected-error@+1 {{begins a persistent kernel without launches}}
  %0 = graph.reshape %x {plan.persistent = 0 : i64, shape = [2, 5], plan.buffers = [#plan.buffer<alias>]} : (tensor<10xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  memref.global "private" @memory : memref<4611686018427387904x4x4xf32, 3> = uninitialized
  // expected-error@+1 {{@joint0_a needs more shared memory than the 2147483647 bytes that a block may have}}
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    %0 = memref.get_global @memory : memref<4611686018427387904x4x4xf32, 3>
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  memref.global "private" @memory : memref<4xf32, 3> = uninitialized {alignment = 4611686018427387904}
  memref.global "private" @more : memref<4xf32, 3> = uninitialized {alignment = 4611686018427387904}
  // expected-error@+1 {{@joint0_a needs more shared memory than the 2147483647 bytes that a block may have}}
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    %0 = memref.get_global @memory : memref<4xf32, 3>
    %1 = memref.get_global @more : memref<4xf32, 3>
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}

// -----

plan.kernel @a(tensor<10xf32>) -> tensor<10xf32> attributes {symbols = []} {
  memref.global "private" @memory : memref<4xvector<4xf32>, 3> = uninitialized
  // expected-error@+1 {{@joint0_a has shared memory with an element type other than integers and floats: 'vector<4xf32>'}}
  func.func @a(%ctx: !llvm.ptr, %x: memref<?xf32>, %y: memref<?xf32>) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 256, symbols = []>} {
    %0 = memref.get_global @memory : memref<4xvector<4xf32>, 3>
    return
  }
}
func.func @main(%x: tensor<10xf32>) -> tensor<10xf32> attributes {plan.arena_bytes = 128 : i64} {
  %0 = plan.launch @a(%x) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  %1 = plan.launch @a(%0) symbols [] {plan.persistent = 0 : i64, plan.buffers = [#plan.buffer<output, 0>]} : (tensor<10xf32>) -> tensor<10xf32>
  return %1 : tensor<10xf32>
}
