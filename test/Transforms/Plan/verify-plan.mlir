// Checks the invariants of a plan. Each case is a hand-written plan that violates one of them.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-verify-plan

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 128} {
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = plan.launch @k(%1) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = plan.launch @k(%2) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// expected-error@+1 {{has no program: a function 'main' with a body}}
module {
  func.func private @main()
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{needs a buffer assignment for each result in 'plan.buffers'}}
  %0 = plan.launch @k(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has a buffer assignment of the wrong kind: #plan.buffer<alias>}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<alias>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-note@+1 {{this one}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{overlaps another value in the arena}}
  %1 = plan.launch @k(%0) symbols [] {plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Symbolic sizes are checked for samples: these two overlap unless b is large.
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"a">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"b">]}) -> tensor<?xf32> attributes {plan.arena_bytes = #graph.dim<"4096*a + $0">, plan.arena_levels = [#graph.dim<"4096*b">]} {
  // expected-note@+1 {{this one}}
  %0 = plan.launch @k(%x) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 1024]], plan.buffers = [#plan.buffer<arena, 0>]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  // expected-error@+1 {{overlaps another value in the arena}}
  %1 = plan.launch @k(%0) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 1024]], plan.buffers = [#plan.buffer<arena, "$0">]} : (tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %2 = plan.launch @k(%1) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">]], plan.buffers = [#plan.buffer<output, 0>]} : (tensor<?x1024xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{is outside of the arena}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<arena, 64>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{launches an undefined kernel: nobody}}
  %0 = plan.launch @nobody(%x) symbols [] {plan.buffers = [#plan.buffer<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{must be in a kernel: the program cannot execute it directly}}
  %0 = graph.neg %x {plan.buffers = [#plan.buffer<alias>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{has no 'plan.arena_bytes'}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<output, 9>}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<output, 9>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}) -> tensor<?xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<output, "n">}}
  %0 = plan.launch @k(%x) symbols [] {graph.dims = [[#graph.dim<"n">]], plan.buffers = [#plan.buffer<output, "n">]} : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// A scan's states have buffers of their own; only its stacked results have slices.
func.func private @k()
func.func @main(%h: tensor<4xf32>, %x: tensor<10x4xf32>) -> tensor<10x4xf32> attributes {plan.arena_bytes = 64} {
  %0:2 = graph.scan %h, %x attributes {numStates = 1 : i64, backward = array<i1: false, false>, plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<output, 0>]} {
  ^bb0(%hh: tensor<4xf32>, %xx: tensor<4xf32>):
    // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<slice, 0>}}
    %1 = plan.launch @k(%hh, %xx) symbols [] {plan.buffers = [#plan.buffer<slice, 0>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<slice, 2>}}
    %2 = plan.launch @k(%hh, %xx) symbols [] {plan.buffers = [#plan.buffer<slice, 2>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>)
  return %0#1 : tensor<10x4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has a result in an output or sequence that does not exist: #plan.buffer<slice, 0>}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<slice, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%h: tensor<4xf32>, %x: tensor<10x4xf32>) -> tensor<10x4xf32> attributes {plan.arena_bytes = 128} {
  // expected-error@+1 {{needs an arena offset or unit for each carried value in 'plan.staging'}}
  %0:2 = graph.scan %h, %x attributes {numStates = 1 : i64, backward = array<i1: false, false>, plan.buffers = [#plan.buffer<arena, 0>, #plan.buffer<output, 0>], plan.staging = [#plan.buffer<arena, 0>, unit]} {
  ^bb0(%hh: tensor<4xf32>, %xx: tensor<4xf32>):
    %1 = plan.launch @k(%hh, %xx) symbols [] {plan.buffers = [#plan.buffer<slice, 1>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %hh, %1 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>)
  return %0#1 : tensor<10x4xf32>
}

// -----

// The full tensor of the concat has another layout than the subview.
plan.kernel @exp(%x: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  graph.yield %0 : tensor<3x4x6xf32>
}
func.func @main(%x: tensor<3x4x6xf32>) -> tensor<3x4x6xf32, #graph.layout<[0, 2, 1]>> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  // expected-error@+1 {{has a subview whose layout differs from its part of the result}}
  %1 = plan.assemble %0 along 0 : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32, #graph.layout<[0, 2, 1]>>
  return %1 : tensor<3x4x6xf32, #graph.layout<[0, 2, 1]>>
}

// -----

// Rows of the full tensor have a stride of 8, and so must those of the subview.
plan.kernel @exp(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  graph.yield %0, %0 : tensor<3x4xf32>, tensor<3x4xf32>
}
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x8xf32> {
  %0:2 = plan.launch @exp(%x) symbols [] : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  // expected-error@+1 {{has a subview whose layout differs from its part of the result}}
  %1 = plan.assemble %0#0, %0#1 along 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// Queries for the full tensor of a value inspect its users: their number is limited.
!t = tensor<4xf32>
plan.kernel @exp(%x: !t) -> !t attributes {symbols = []} {
  %0 = graph.exp %x : (!t) -> !t
  graph.yield %0 : !t
}
plan.kernel @many(%a0: !t, %a1: !t, %a2: !t, %a3: !t, %a4: !t, %a5: !t, %a6: !t, %a7: !t, %a8: !t, %a9: !t, %a10: !t, %a11: !t, %a12: !t, %a13: !t, %a14: !t, %a15: !t, %a16: !t, %a17: !t, %a18: !t, %a19: !t, %a20: !t, %a21: !t, %a22: !t, %a23: !t, %a24: !t, %a25: !t, %a26: !t, %a27: !t, %a28: !t, %a29: !t, %a30: !t, %a31: !t, %a32: !t) -> !t attributes {symbols = []} {
  %0 = graph.exp %a0 : (!t) -> !t
  graph.yield %0 : !t
}
func.func @main(%x: !t) -> (!t, !t) {
  %0 = plan.launch @exp(%x) symbols [] : (!t) -> !t
  // expected-error@+1 {{has a subview with more than 32 uses}}
  %1 = plan.assemble %0 along 0 : (!t) -> !t
  %2 = plan.launch @many(%0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0) symbols [] : (!t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t) -> !t
  return %1, %2 : !t, !t
}

// -----

func.func @main(%x: tensor<4x6xf32>) -> tensor<6x4xf32> attributes {plan.arena_bytes = 0} {
  // expected-error@+1 {{is a view whose result has another memory layout than its operand}}
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
