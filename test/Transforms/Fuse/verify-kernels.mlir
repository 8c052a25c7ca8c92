// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-verify-kernels | FileCheck %s

// Constants, views and launches are allowed outside of kernels.
// CHECK-LABEL: func.func @good
plan.kernel @neg(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.neg %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
func.func @good(%x: tensor<4x4xf32>) -> (tensor<16xf32>, tensor<1xf32>) {
  %c = graph.constant {value = dense<1.0> : tensor<1xf32>} : tensor<1xf32>
  %0 = plan.launch @neg(%x) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.reshape %0 {shape = [16]} : (tensor<4x4xf32>) -> tensor<16xf32>
  return %1, %c : tensor<16xf32>, tensor<1xf32>
}

// -----

func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{computes outside of a kernel}}
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The pass reports the errors of all kernels at once.
func.func @composed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{must not remain: groups and decomposable ops have to be lowered to kernels}}
  %0 = graph.softmax %x {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{must not remain: groups and decomposable ops have to be lowered to kernels}}
  %1 = graph.group(%0) {
  ^bb0(%a: tensor<4xf32>):
    // expected-error@+1 {{computes outside of a kernel}}
    %2 = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

plan.kernel @program(%n: tensor<1xi64>) -> tensor<1xi64> attributes {symbols = []} {
  // expected-error@+1 {{cannot be part of a kernel}}
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  graph.yield %n : tensor<1xi64>
}

// -----

// Invalid kernel: it broadcasts a row-wise result along columns, so that element (i, j) needs the
// result of row j.
plan.kernel @columns(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.reduce_min %x {dims = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{is a kernel result with neither one element per point of the iteration space nor one per row}}
  %1 = graph.sub %0, %x : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %1 : tensor<4x4xf32>
}

// -----

// Invalid kernel: one value combines reduction results with and without keepdims.
plan.kernel @twice(%x: tensor<4x4xf32>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_min %x {dims = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = graph.reduce_min %x {dims = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %2 = graph.sub %0, %1 : (tensor<4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  // expected-error@+1 {{reads a value at another index than the one at which its kernel computes it}}
  %3 = graph.reduce_max %2 {dims = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  graph.yield %3 : tensor<4x1xf32>
}

// -----

// Invalid kernel: it uses one value at two different indices of the iteration space.
plan.kernel @ways(%x: tensor<4x4x4xf32>) -> tensor<4x4x4xf32> attributes {symbols = []} {
  %0 = graph.reduce_min %x {dims = array<i64: 2>, keepdims = false} : (tensor<4x4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.reduce_max %x {dims = array<i64: 2>} : (tensor<4x4x4xf32>) -> tensor<4x4x1xf32>
  // expected-error@+1 {{reads a value at another index than the one at which its kernel computes it}}
  %2 = graph.sub %0, %1 : (tensor<4x4xf32>, tensor<4x4x1xf32>) -> tensor<4x4x4xf32>
  graph.yield %2 : tensor<4x4x4xf32>
}

// -----

// Invalid kernel: an op that computes its own addresses comes before another op of the kernel.
plan.kernel @moved(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x4xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // expected-error@+1 {{reads a value at another index than the one at which its kernel computes it}}
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  graph.yield %1 : tensor<8x4xf32>
}

// -----

// Invalid kernel: the kernel would have to broadcast a dim that may be 1 at run time.
plan.kernel @repeated(%x: tensor<?x8xf32> {graph.dims = [#graph.dim<"m">, 8]}, %y: tensor<?x1xf32> {graph.dims = [#graph.dim<"n">, 1]}) -> tensor<?x1xf32> attributes {symbols = ["m", "n"]} {
  %0 = graph.reduce_min %x {dims = array<i64: 1>, graph.dims = [[#graph.dim<"m">, 1]]} : (tensor<?x8xf32>) -> tensor<?x1xf32>
  // expected-error@+1 {{reads a value at another index than the one at which its kernel computes it}}
  %1 = graph.sub %0, %y {graph.dims = [[#graph.dim<"max(m, n)">, 1]]} : (tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  graph.yield %1 : tensor<?x1xf32>
}

// -----

// Invalid kernel: it has two contractions without row-wise ops between them.
// expected-error@+1 {{has several contractions that cannot be fused as attention: there is no row-wise reduction between the two contractions}}
plan.kernel @products(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.matmul %0, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %1 : tensor<4x4xf32>
}

// -----

// A valid kernel: all of its values have an index in the iteration space, although their ranks
// differ.
// CHECK-LABEL: plan.kernel @places
plan.kernel @places(%x: tensor<4x1x4xf32>, %w: tensor<1x4x1xf32>, %y: tensor<4x1x4xf32>) -> (tensor<4x1xf32>, tensor<1x4x1xf32>, tensor<4x1x4xf32>, tensor<1x1x4x1x1xf32>) attributes {symbols = []} {
  %0 = graph.reduce_min %x {dims = array<i64: 2>, keepdims = false} : (tensor<4x1x4xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %0, %w : (tensor<4x1xf32>, tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %2 = graph.reduce_max %x {dims = array<i64: 2>} : (tensor<4x1x4xf32>) -> tensor<4x1x1xf32>
  %3 = graph.sub %2, %y : (tensor<4x1x1xf32>, tensor<4x1x4xf32>) -> tensor<4x1x4xf32>
  %4 = graph.constant {value = dense<1.0> : tensor<1x1x1x1x1xf32>} : tensor<1x1x1x1x1xf32>
  %5 = graph.sub %2, %4 : (tensor<4x1x1xf32>, tensor<1x1x1x1x1xf32>) -> tensor<1x1x4x1x1xf32>
  graph.yield %0, %1, %3, %5 : tensor<4x1xf32>, tensor<1x4x1xf32>, tensor<4x1x4xf32>, tensor<1x1x4x1x1xf32>
}

// -----

// Invalid kernel: every result element needs element 0 of an operand, which the kernel may have
// overwritten in place before.
plan.kernel @below(%x: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [0], sizes = [1], steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<1xf32>
  %1 = graph.div %0, %x : (tensor<1xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.yield %1 : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{may overwrite input 0, but its kernel reads that input at other indices than the result's}}
  %0 = plan.launch @below(%x) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

plan.kernel @unlike(%x: tensor<2xf32>) -> tensor<2xf32> attributes {symbols = []} {
  // expected-error@+1 {{is a non-splat constant inside of a kernel}}
  %c = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %0 = graph.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  graph.yield %0 : tensor<2xf32>
}

// -----

// expected-error@+1 {{does not end with a graph.yield of its results}}
plan.kernel @no_yield(%x: tensor<4xf32>) -> tensor<4xf16> attributes {symbols = []} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{has no body}}
"plan.kernel"() ({
^bb0(%x: tensor<4xf32>):
}) {sym_name = "none", function_type = (tensor<4xf32>) -> tensor<4xf32>, symbols = []} : () -> ()

// -----

// expected-error@+1 {{has 4 : i64 in its symbols, which is not a string}}
plan.kernel @no_name(%x: tensor<4xf32>) -> tensor<4xf32> attributes {symbols = [4]} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{has a dim in the symbol 'n', which the kernel does not declare}}
plan.kernel @foreign(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}) -> tensor<?xf32> attributes {symbols = ["m"]} {
  %0 = graph.neg %x {graph.dims = [[#graph.dim<"n">]]} : (tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}

// -----

// expected-error@+1 {{has an argument or result that is not a ranked tensor}}
plan.kernel @no_tensor(%x: f32) -> tensor<4xf32> attributes {symbols = []} {
  %0 = graph.scratch {shape = [4], of = f32} : () -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

plan.kernel @neg(%x: tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}
func.func @main(%x: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{does not match the operands, results and symbols of 'neg'}}
  %0 = plan.launch @neg(%x) symbols [] : (tensor<5xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

plan.kernel @two(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {symbols = []} {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  graph.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{may overwrite inputs, but its kernel has several results}}
  %0:2 = plan.launch @two(%x) symbols [] {plan.may_overwrite = array<i64: 0>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}
