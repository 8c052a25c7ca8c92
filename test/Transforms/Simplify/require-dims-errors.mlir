// RUN: hewn-opt %s --split-input-file --hewn-require-dims --verify-diagnostics

// Of numbers it is known now.
func.func @numbers(%x: tensor<3x4xf32>, %i: tensor<5x4xi64>) -> tensor<5x4xf32> {
  // expected-error @+1 {{takes 5 elements along a dim that has 3}}
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xi64>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

// An op of no kind, which has not been written in others, may read anything.
func.func @composed(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{says nothing of what it reads: neither a kind nor a requirement}}
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
