// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-partition='stages=2 micro-batches=4 rank=0'

// expected-error @below {{the batch of 6 can't be divided into 4 micro-batches}}
func.func @six(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = graph.relu %x : (tensor<6xf32>) -> tensor<6xf32>
  %1 = graph.relu %0 : (tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

func.func @no_dims(%x: tensor<8xf32>) -> tensor<f32> {
  %0 = graph.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{makes a result without dims, and micro-batches are parts of the first one}}
  %1 = graph.reduce_sum %0 {dims = array<i64: 0>, keepdims = false} : (tensor<8xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @unlike(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %0 = graph.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-error @below {{makes a result whose first dim is 4, and that of another one, the batch that is divided, is 8}}
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

// Each item of the result is made of all items.
func.func @cumulated(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = graph.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-error @below {{can't be divided into parts of the batch, so the model can't be run in micro-batches}}
  %1 = graph.cumsum %0 {dim = 0 : i64} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
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
