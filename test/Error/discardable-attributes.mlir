// Discardable attributes of the dialects with a wrong type or on a wrong op: the dialect's verifier
// rejects each.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{has an attribute that is not in the plan dialect: 'plan.blocks'}}
func.func private @unknown() attributes {plan.blocks = 4 : i64}

// -----

// expected-error@+1 {{has a 'plan.target' that is invalid: it must be a #plan.cpu or #plan.gpu of a module}}
module attributes {plan.target = "host"} {
}

// -----

// expected-error@+1 {{has a 'plan.packing_lanes' that is invalid: it must be a positive number of lanes on a module}}
module attributes {plan.packing_lanes = 0 : i64} {
}

// -----

// expected-error@+1 {{has a 'plan.packs_for_any_rows' that is invalid: it must be a unit attribute of a module}}
module attributes {plan.packs_for_any_rows = 8 : i64} {
}

// -----

// expected-error@+1 {{has a 'plan.shares_floats' that is invalid: it must be a unit attribute of a module}}
module attributes {plan.shares_floats = 8 : i64} {
}

// -----

func.func @places(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a 'plan.buffers' that is invalid: it must have a #plan.buffer for each result}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @places_of_another_kind(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a 'plan.buffers' that is invalid: it must have a #plan.buffer for each result}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = ["arena"]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @place_with_offset(%x: tensor<4xf32>) {
  // expected-error@+1 {{a buffer of kind 'alias' must not have an offset}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<alias, 4>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @place_of_no_kind(%x: tensor<4xf32>) {
  // expected-error@+2 {{expected one of [arena, output, slice, dynamic, subview, forward, alias]}}
  // expected-error@+1 {{failed to parse Plan_BufferAttr parameter 'kind'}}
  %0 = plan.launch @k(%x) symbols [] {plan.buffers = [#plan.buffer<stack, 4>]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @staging(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a 'plan.staging' that is invalid: it must be a list of arena buffers and units on a loop}}
  %0 = plan.launch @k(%x) symbols [] {plan.staging = [unit]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @may_overwrite(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a 'plan.may_overwrite' that is invalid: it must be a list of input numbers of a launch}}
  %0 = plan.launch @k(%x) symbols [] {plan.may_overwrite = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @joint(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a 'plan.persistent' that is invalid: it must be a number}}
  %0 = plan.launch @k(%x) symbols [] {plan.persistent = "first"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @steps(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a 'plan.steps' that is invalid: it must be a list of steps on a plan.assemble}}
  %0 = plan.launch @k(%x) symbols [] {plan.steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{has a 'plan.arena_bytes' that is invalid: it must be a number or an expression on a function}}
func.func @arena_bytes() attributes {plan.arena_bytes = "4*n"} {
  return
}

// -----

// expected-error@+1 {{has a 'plan.arena_levels' that is invalid: it must be a list of numbers and expressions on a function}}
func.func @arena_levels() attributes {plan.arena_levels = 4 : i64} {
  return
}

// -----

// expected-error@+1 {{has a 'plan.max_live' that is invalid: it must be a number of bytes on a function}}
func.func @max_live() attributes {plan.max_live = -1 : i64} {
  return
}

// -----

// expected-error@+1 {{has a 'plan.resident_weights' that is invalid: it must be the number of an argument of a kernel}}
plan.kernel @keeps(%x: tensor<4xf32>) -> tensor<4xf32> attributes {plan.resident_weights = 1 : i64, symbols = []} {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{has a 'plan.launch_info' that is invalid: it must be a #plan.tasks or #plan.gpu_launch of a function}}
func.func @launch_info() attributes {plan.launch_info = 4 : i64} {
  return
}

// -----

// expected-error@+1 {{has a 'plan.launch_info' that is invalid: it has more symbols and TMA tiles than the function has arguments}}
func.func @symbols(%x: index) attributes {plan.launch_info = #plan.tasks<count = "n", symbols = ["n", "m"]>} {
  return
}

// -----

// expected-error@+1 {{has an attribute of argument 0 that is not in the plan dialect: 'plan.alone'}}
func.func @argument(%x: index {plan.alone}) {
  return
}

// -----

// expected-error@+1 {{symbols must be strings}}
#tasks = #plan.tasks<count = 4, symbols = [4]>

// -----

// expected-error@+1 {{has a 'plan.launch_info' that is invalid: it has an expression with an undeclared symbol}}
func.func @count(%n: index) attributes {plan.launch_info = #plan.tasks<count = "m*n", symbols = ["n"]>} {
  return
}

// -----

// expected-error@+1 {{has a 'plan.launch_info' that is invalid: it has an expression with an undeclared symbol}}
func.func @blocks() attributes {plan.launch_info = #plan.gpu_launch<blocks = "n", threads = 32, symbols = []>} {
  return
}

// -----

// expected-error@+1 {{has a 'plan.launch_info' that is invalid: it has an expression with an undeclared symbol}}
func.func @boxes(%x: memref<?xf32>, %box: !llvm.ptr) attributes {plan.launch_info = #plan.gpu_launch<blocks = 4, threads = 32, symbols = [], boxes = [#plan.tma_tile<argument = 0, bytes = 4, extents = [8, #graph.dim<"n">], strides = [32], sizes = [8, 8]>]>} {
  return
}

// -----

// expected-error@+1 {{threads must be 1 to 2147483647, and counters at most as many}}
#launch = #plan.gpu_launch<blocks = 4, threads = 0, symbols = []>

// -----

// expected-error@+1 {{keptBytes must not be negative}}
#launch = #plan.gpu_launch<blocks = 4, threads = 32, symbols = [], keptBytes = -1>

// -----

// expected-error@+1 {{keptBytes must be at most 2147483647}}
#launch = #plan.gpu_launch<blocks = 4, threads = 32, symbols = [], keptBytes = 9223372036854775807>

// -----

// expected-error@+1 {{boxes must be #plan.tma_tile attributes}}
#launch = #plan.gpu_launch<blocks = 4, threads = 32, symbols = [], boxes = [1]>

// -----

func.func @dims(%x: tensor<?xf32>) {
  // expected-error@+1 {{has no list of dims for each result in 'graph.dims'}}
  %0 = graph.neg %x {graph.dims = [["n"]]} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @rank(%x: tensor<?xf32>) {
  // expected-error@+1 {{has no list of dims for each result in 'graph.dims'}}
  %0 = graph.neg %x {graph.dims = [[#graph.dim<"n">, 4]]} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// expected-error@+1 {{has no list of dims in 'graph.dims' of argument 1}}
func.func @argument_dims(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}, %y: tensor<?xf32> {graph.dims = ["n"]}) {
  return
}

// -----

// expected-error@+1 {{has no list of #graph.requirement in 'graph.requires'}}
func.func @requires() attributes {graph.requires = [["", "equal", "m", "n"]]} {
  return
}

// -----

// expected-error@+1 {{a constant dim must be an integer attribute: 4}}
#dim = #graph.dim<"2 + 2">

// -----

// expected-error@+2 {{invalid dim expression 'n +'}}
// expected-error@+1 {{failed to parse Graph_DimAttr parameter 'expr'}}
#dim = #graph.dim<"n +">

// -----

// expected-error@+1 {{has a 'plan.title' that is invalid: it must be a text of a module}}
module attributes {plan.title = 8 : i64} {
}

// -----

// expected-error@+1 {{has no list of #graph.case in 'graph.cases'}}
module attributes {graph.cases = ["n = 1"]} {
}

// -----

// expected-error@+1 {{has no list of #graph.question in 'graph.questions'}}
module attributes {graph.questions = 1 : i64} {
}

// -----

// expected-error@+1 {{has no number in 'graph.case_number'}}
module attributes {graph.case_number = -1 : i64} {
}
