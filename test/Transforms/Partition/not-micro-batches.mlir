// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-partition='stages=2 micro-batches=4 rank=0'

// expected-error @below {{the batch of 6 can't be divided into 4 micro-batches}}
func.func @six(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.relu %x : (tensor<6xf32>) -> tensor<6xf32>
  %1 = graph.relu %0 : (tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// expected-error @below {{no result has a dim, and micro-batches are parts of one}}
func.func @no_dims(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = graph.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 0>, keepdims = false} : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Along the other dim it could be divided, but that would be the last product's columns, and all before it would be made as a whole.
// expected-error @below {{the batch of 1 can't be divided into 4 micro-batches}}
func.func @columns(%x: tensor<1x64xf32>) -> tensor<1x8xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 2048>} : tensor<64x8xf32>
  %0 = graph.matmul %x, %w : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %1 = graph.matmul %0, %v : (tensor<1x64xf32>, tensor<64x8xf32>) -> tensor<1x8xf32>
  return %1 : tensor<1x8xf32>
}

// -----

// Each item of the result is made of all items.
func.func @cumulated(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = graph.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
  // expected-error @below {{can't be divided into parts of the batch, so the model can't be run in micro-batches}}
  %1 = graph.cumsum %0 {dim = 0 : i64} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// Each row of a product by rows, and by all items as columns.
func.func @product(%x: tensor<8x4xf32>) -> tensor<8x8xf32> {
  %0 = graph.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  // expected-error @below {{can't be divided into parts of the batch}}
  %2 = graph.matmul %0, %1 : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// -----

// Rows of other items would be in a part of what is 2 by 8 items.
func.func @merged(%x: tensor<2x8xf32>) -> tensor<8x2xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 256>} : tensor<8x8xf32>
  %0 = graph.matmul %x, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  // expected-error @below {{can't be divided into parts of the batch}}
  %1 = graph.reshape %0 {shape = [8, 2]} : (tensor<2x8xf32>) -> tensor<8x2xf32>
  return %1 : tensor<8x2xf32>
}

// -----

// A loop that goes on while any item wants it.
func.func @together(%x: tensor<8x3xf32>, %trips: tensor<i64>, %go: tensor<i1>) -> tensor<8x3xf32> {
  %0 = graph.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
  // expected-error @below {{can't be divided into parts of the batch}}
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

// The batch behind the words, which a reshape takes for the words: an item of the result is made of other items' words.
func.func @misread(%x: tensor<?x?x3xf32> {graph.dims = [#graph.dim<"s">, #graph.dim<"n">, 3]}) -> tensor<?x?x3xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 36>} : tensor<3x3xf32>
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 3]]} : (tensor<?x?x3xf32>, tensor<3x3xf32>) -> tensor<?x?x3xf32>
  // expected-error @below {{can't be divided into parts of the batch}}
  %1 = graph.reshape %0 {graph.dims = [[#graph.dim<"n">, #graph.dim<"s">, 3]], shape = [#graph.dim<"n">, #graph.dim<"s">, 3]} : (tensor<?x?x3xf32>) -> tensor<?x?x3xf32>
  return %1 : tensor<?x?x3xf32>
}

// -----

// Moves of inputs alone, which are not divided: nothing would be left for micro-batches.
func.func @moves(%x: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = graph.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
  // expected-error @below {{can't be divided into parts of the batch}}
  %1 = graph.slice %0 {offsets = [7, 0], sizes = [8, 3], steps = array<i64: -1, 1>} : (tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}
