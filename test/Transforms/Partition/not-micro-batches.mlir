// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-partition='stages=2 micro-batches=4 rank=0'

// expected-error @below {{the batch of 6 is not divisible into 4 micro-batches}}
func.func @six(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.relu %x : (tensor<6xf32>) -> tensor<6xf32>
  %1 = graph.relu %0 : (tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// expected-error @below {{no result has dims, so the model cannot run in micro-batches}}
func.func @no_dims(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = graph.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 0>, keepdims = false} : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The other dim could be split, but only in the last matmul's columns, and all ops before it would
// process the full batch.
// expected-error @below {{the batch of 1 is not divisible into 4 micro-batches}}
func.func @columns(%x: tensor<1x64xf32>) -> tensor<1x8xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 2048>} : tensor<64x8xf32>
  %0 = graph.matmul %x, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %1 = graph.matmul %0, %v : (tensor<1x64xf32>, tensor<64x8xf32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}

// -----

// No micro-batches: each batch element of the result depends on all batch elements of the input.
func.func @cumulated(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = graph.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
  // expected-error @below {{cannot be split along the batch, so the model cannot run in micro-batches}}
  %1 = graph.cumsum %0 {dim = 0 : i64} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// No micro-batches: the batch dim is both the rows and the columns of a matmul.
func.func @product(%x: tensor<8x4xf32>) -> tensor<8x8xf32> {
  %0 = graph.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // expected-error @below {{cannot be split along the batch}}
  %2 = graph.matmul %0, %1 : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// With 2 by 8 elements merged, a micro-batch would contain rows of other batch elements.
func.func @merged(%x: tensor<2x8xf32>) -> tensor<8x2xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 256>} : tensor<8x8xf32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  // expected-error @below {{cannot be split along the batch}}
  %1 = graph.reshape %0 {shape = [8, 2]} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

// No micro-batches: the loop has one condition for all batch elements.
func.func @together(%x: tensor<8x3xf32>, %trips: tensor<i64>, %go: tensor<i1>) -> tensor<8x3xf32> {
  %0 = graph.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
  // expected-error @below {{cannot be split along the batch}}
  %1 = graph.loop %trips, %go, %0 {
  ^bb0(%i: tensor<i64>, %c: tensor<i1>, %h: tensor<8x3xf32>):
    %2 = graph.tanh %h : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %3 = graph.reduce_sum %2 {dims = array<i64: 0, 1>, keepdims = false} : (tensor<8x3xf32>) -> tensor<f32>
    %4 = graph.cast %3 {to = i1} : (tensor<f32>) -> tensor<i1>
    graph.yield %4, %2 : tensor<i1>, tensor<8x3xf32>
  } : (tensor<i64>, tensor<i1>, tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// The batch is after the words, and a reshape mistakes it for the words: a batch element of the
// result depends on the words of others.
func.func @misread(%x: tensor<?x?x3xf32> {graph.dims = [#graph.dim<"s">, #graph.dim<"n">, 3]}) -> tensor<?x?x3xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 36>} : tensor<3x3xf32>
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 3]]} : (tensor<?x?x3xf32>, tensor<3x3xf32>) -> tensor<?x?x3xf32>
  // expected-error @below {{cannot be split along the batch}}
  %1 = graph.reshape %0 {graph.dims = [[#graph.dim<"n">, #graph.dim<"s">, 3]], shape = [#graph.dim<"n">, #graph.dim<"s">, 3]} : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  return %1 : tensor<?x?x3xf32>
}

// -----

// No micro-batches: the model has only indexing ops on inputs, which the pass does not split, so
// that no work is left for micro-batches.
func.func @moves(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = graph.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
  // expected-error @below {{cannot be split along the batch}}
  %1 = graph.slice %0 {offsets = [7, 0], sizes = [8, 3], steps = array<i64: -1, 1>} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}
