// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// The first operand of an interleave has the first element of the result along a dim and, if the
// dim is odd, one element more than the other operand. Surplus elements of an operand are not read.
// CHECK-LABEL: func.func @turns
// CHECK: graph.interleave %{{.*}} {shape = [1, 5, 4], steps = array<i64: 1, 2, 2>} : {{.*}} -> tensor<1x5x4xf32>
func.func @turns(%a: tensor<1x3x2xf32>, %b: tensor<1x3x3xf32>, %c: tensor<1x2x2xf32>, %d: tensor<1x2x2xf32>) -> tensor<1x5x4xf32> {
  %0 = graph.interleave %a, %b, %c, %d {shape = [1, 5, 4], steps = array<i64: 1, 2, 2>} : (tensor<1x3x2xf32>, tensor<1x3x3xf32>, tensor<1x2x2xf32>, tensor<1x2x2xf32>) -> tensor<1x5x4xf32>
  return %0 : tensor<1x5x4xf32>
}

// -----

func.func @few(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<9xf32> {
  // expected-error @+1 {{needs a positive step for each dim, and as many operands as their product}}
  %0 = graph.interleave %a, %b {shape = [9], steps = array<i64: 3>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<9xf32>
  return %0 : tensor<9xf32>
}

// -----

func.func @short(%a: tensor<3xf32>, %b: tensor<2xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{operand 1 has 2 elements along dim 0, but the result needs 3}}
  %0 = graph.interleave %a, %b {shape = [6], steps = array<i64: 2>} : (tensor<3xf32>, tensor<2xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @unlike(%a: tensor<3x4xf32>, %b: tensor<3x5xf32>) -> tensor<6x4xf32> {
  // expected-error @+1 {{operand 1 has 5 elements along dim 1, but the result needs 4}}
  %0 = graph.interleave %a, %b {shape = [6, 4], steps = array<i64: 2, 1>} : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// -----

func.func @ranks(%a: tensor<3xf32>, %b: tensor<3x1xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{operands differ in rank or type}}
  %0 = graph.interleave %a, %b {shape = [6], steps = array<i64: 2>} : (tensor<3xf32>, tensor<3x1xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

func.func @text(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<6xf32> {
  // expected-error @+1 {{shape must be a list of integers and expressions}}
  %0 = graph.interleave %a, %b {shape = [6.0], steps = array<i64: 2>} : (tensor<3xf32>, tensor<3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}
