// What is true after planning, and each way in which a plan that was written by hand can be wrong.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-verify-plan

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 128} {
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.places = [#plan.place<arena, 64>]} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = plan.launch @k(%1) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = plan.launch @k(%2) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
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
  // expected-error@+1 {{needs a place for each result in 'plan.places'}}
  %0 = plan.launch @k(%x) symbols [] : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has no use for the place #plan.place<alias>}}
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<alias>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-note@+1 {{this one}}
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{overlaps another value in the arena}}
  %1 = plan.launch @k(%0) symbols [] {plan.places = [#plan.place<arena, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// With symbols, for sample sizes: these two are apart where b is large.
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"a">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"b">]}) -> tensor<?xf32> attributes {plan.arena_bytes = #graph.dim<"4096*a + $0">, plan.arena_levels = [#graph.dim<"4096*b">]} {
  // expected-note@+1 {{this one}}
  %0 = plan.launch @k(%x) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 1024]], plan.places = [#plan.place<arena, 0>]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  // expected-error@+1 {{overlaps another value in the arena}}
  %1 = plan.launch @k(%0) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 1024]], plan.places = [#plan.place<arena, "$0">]} : (tensor<?x1024xf32>) -> tensor<?x1024xf32>
  %2 = plan.launch @k(%1) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">]], plan.places = [#plan.place<output, 0>]} : (tensor<?x1024xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{does not lie within the arena}}
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<arena, 64>]} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = plan.launch @k(%0) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{launches a kernel that is not there: nobody}}
  %0 = plan.launch @nobody(%x) symbols [] {plan.places = [#plan.place<output, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{is not in a kernel, and the program can't do it by itself}}
  %0 = graph.neg %x {plan.places = [#plan.place<alias>]} : (tensor<4xf32>) -> tensor<4xf32>
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
  // expected-error@+1 {{has a result at a place that is not there: #plan.place<output, 9>}}
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<output, 9>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}) -> tensor<?xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has a result at a place that is not there: #plan.place<output, "n">}}
  %0 = plan.launch @k(%x) symbols [] {graph.dims = [[#graph.dim<"n">]], plan.places = [#plan.place<output, "n">]} : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// A scan's states have memory of their own; only what it makes step by step has slices.
func.func private @k()
func.func @main(%h: tensor<4xf32>, %x: tensor<10x4xf32>) -> tensor<10x4xf32> attributes {plan.arena_bytes = 64} {
  %0:2 = graph.scan %h, %x attributes {numStates = 1 : i64, backward = array<i1: false, false>, plan.places = [#plan.place<arena, 0>, #plan.place<output, 0>]} {
  ^bb0(%hh: tensor<4xf32>, %xx: tensor<4xf32>):
    // expected-error@+1 {{has a result at a place that is not there: #plan.place<slice, 0>}}
    %1 = plan.launch @k(%hh, %xx) symbols [] {plan.places = [#plan.place<slice, 0>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{has a result at a place that is not there: #plan.place<slice, 2>}}
    %2 = plan.launch @k(%hh, %xx) symbols [] {plan.places = [#plan.place<slice, 2>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1, %2 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>)
  return %0#1 : tensor<10x4xf32>
}

// -----

func.func private @k()
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.arena_bytes = 64} {
  // expected-error@+1 {{has a result at a place that is not there: #plan.place<slice, 0>}}
  %0 = plan.launch @k(%x) symbols [] {plan.places = [#plan.place<slice, 0>]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @k()
func.func @main(%h: tensor<4xf32>, %x: tensor<10x4xf32>) -> tensor<10x4xf32> attributes {plan.arena_bytes = 128} {
  // expected-error@+1 {{needs a place in the arena or unit for each carried value in 'plan.staging'}}
  %0:2 = graph.scan %h, %x attributes {numStates = 1 : i64, backward = array<i1: false, false>, plan.places = [#plan.place<arena, 0>, #plan.place<output, 0>], plan.staging = [#plan.place<arena, 0>, unit]} {
  ^bb0(%hh: tensor<4xf32>, %xx: tensor<4xf32>):
    %1 = plan.launch @k(%hh, %xx) symbols [] {plan.places = [#plan.place<slice, 1>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %hh, %1 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>)
  return %0#1 : tensor<10x4xf32>
}

// -----

// The whole's lines lie in another order than the subview's.
plan.kernel @exp(%x: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  graph.yield %0 : tensor<3x4x6xf32>
}
func.func @main(%x: tensor<3x4x6xf32>) -> tensor<3x4x6xf32, #graph.layout<[0, 2, 1]>> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  // expected-error@+1 {{has a subview that does not lie in memory as its result does}}
  %1 = plan.assemble %0 along 0 : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32, #graph.layout<[0, 2, 1]>>
  return %1 : tensor<3x4x6xf32, #graph.layout<[0, 2, 1]>>
}

// -----

// Rows of the whole are 8 long, and so far apart must those of a subview be.
plan.kernel @exp(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  graph.yield %0, %0 : tensor<3x4xf32>, tensor<3x4xf32>
}
func.func @main(%x: tensor<3x4xf32>) -> tensor<3x8xf32> {
  %0:2 = plan.launch @exp(%x) symbols [] : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  // expected-error@+1 {{has a subview that does not lie in memory as its result does}}
  %1 = plan.assemble %0#0, %0#1 along 1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// Whoever asks what a value is a subview of looks through its readers: there are few.
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
  // expected-error@+1 {{has a subview that is read more than 32 times}}
  %1 = plan.assemble %0 along 0 : (!t) -> !t
  %2 = plan.launch @many(%0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0) symbols [] : (!t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t) -> !t
  return %1, %2 : !t, !t
}

// -----

func.func @main(%x: tensor<4x6xf32>) -> tensor<6x4xf32> attributes {plan.arena_bytes = 0} {
  // expected-error@+1 {{is a view whose result does not lie in memory as its operand does}}
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
