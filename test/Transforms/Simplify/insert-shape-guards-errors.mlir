// RUN: hewn-opt %s --split-input-file --hewn-insert-shape-guards --verify-diagnostics

// If the mismatched sizes of an op are constants, the compiler reports the error at compile time.
func.func @numbers(%x: tensor<3x4xf32>, %i: tensor<5x4xi64>) -> tensor<5x4xf32> {
  // expected-error @+1 {{takes 5 elements along a dim that has 3}}
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<3x4xf32>, tensor<5x4xi64>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// -----

// The pass rejects an op without an op interface, which has not been decomposed: the op may read
// any element, so that no guard makes it safe.
func.func @composed(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // expected-error @+1 {{has no op interface or requirement that describes its accesses}}
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}
