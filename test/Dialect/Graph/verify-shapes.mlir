// RUN: hewn-opt %s --verify-diagnostics --split-input-file -o /dev/null
// The verifier of ops with inferred shapes requires that element type, rank and static dims match.
// It accepts a dim that is static in only one of both types, and another layout.

func.func @good(%a: tensor<?x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32, #graph.layout<[1, 0]>> {
  %0 = graph.add %a, %b : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32, #graph.layout<[1, 0]>>
  return %0 : tensor<2x4xf32, #graph.layout<[1, 0]>>
}

// -----

func.func @dim(%a: tensor<2x4xf32>) -> tensor<2x5xf32> {
  // expected-error@+1 {{result 0 has type 'tensor<2x5xf32>' and must have 'tensor<2x4xf32>'}}
  %0 = graph.relu %a : (tensor<2x4xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

func.func @element(%a: tensor<2xf32>) -> tensor<2xi64> {
  // expected-error@+1 {{result 0 has type 'tensor<2xi64>' and must have 'tensor<2xf32>'}}
  %0 = graph.relu %a : (tensor<2xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

func.func @negative(%a: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{makes a tensor with the negative dim -1}}
  %0 = graph.reshape %a {shape = [-1]} : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
