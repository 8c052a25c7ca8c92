// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-partition='stages=2 rank=0'

// expected-error @below {{the model has too few ops for 2 stages}}
func.func @one(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = graph.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @told(%x: tensor<8xf32>) -> tensor<1x?xi64> {
  %0 = graph.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{has data-dependent sizes, and such a model cannot be split into pipeline stages}}
  %1 = graph.non_zero %0 {count = "n0", graph.dims = [[1, #graph.dim<"n0">]]} : (tensor<8xf32>) -> tensor<1x?xi64>
  return %1 : tensor<1x?xi64>
}

// -----

func.func @narrow(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{produces a type that stages cannot transfer: 'i4'}}
  %0 = graph.cast %x {to = i4} : (tensor<8xf32>) -> tensor<8xi4>
  %1 = graph.cast %0 {to = f32} : (tensor<8xi4>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
