// RUN: hewn-opt %s --split-input-file --hewn-verify-in-bounds --verify-diagnostics
// RUN: hewn-opt %s --split-input-file --hewn-insert-shape-guards --hewn-verify-in-bounds

func.func @unseen(%x: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"n">]}, %w: tensor<?x3xf32> {graph.dims = [#graph.dim<"m">, 3]}) -> tensor<2x3xf32> {
  // expected-error @+1 {{has a requirement that is not checked: equal m, n}}
  %0 = graph.matmul %x, %w : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// The verifier accepts accesses of ops that guards at the start of the function, or before the op,
// make safe.
func.func @seen(%x: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"n">]}, %w: tensor<?x3xf32> {graph.dims = [#graph.dim<"m">, 3]}, %k: tensor<1xi64>) -> (tensor<2x3xf32>, tensor<1xf32>)
    attributes {graph.requires = [#graph.requirement<"", equal, "m", "n">]} {
  graph.read_symbol "u0" = %k[0] : tensor<1xi64>
  %0 = graph.matmul %x, %w : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  %1 = graph.reshape %0 {shape = [6]} : (tensor<2x3xf32>) -> tensor<6xf32>
  graph.require_dims atMost [#graph.dim<"u0 + 1">, 6]
  graph.require_dims atMost [0, #graph.dim<"u0">]
  %2 = graph.slice %1 {offsets = [#graph.dim<"u0">], sizes = [1], steps = array<i64: 1>} : (tensor<6xf32>) -> tensor<1xf32>
  return %0, %2 : tensor<2x3xf32>, tensor<1xf32>
}

// -----

// A guard after the op does not make its access safe.
func.func @late(%x: tensor<6xf32>, %k: tensor<1xi64>) -> tensor<1xf32> {
  graph.read_symbol "u0" = %k[0] : tensor<1xi64>
  // expected-error @+1 {{has a requirement that is not checked: atMost u0 + 1, 6}}
  %0 = graph.slice %x {offsets = [#graph.dim<"u0">], sizes = [1], steps = array<i64: 1>} : (tensor<6xf32>) -> tensor<1xf32>
  graph.require_dims atMost [#graph.dim<"u0 + 1">, 6]
  return %0 : tensor<1xf32>
}
