// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s

// CHECK-LABEL: @known
func.func @known(%x: tensor<2x?x4xf32> {graph.dims = [2, #graph.dim<"n">, 4]}, %m: tensor<5x3x3xf64>) {
  // CHECK: graph.top_k %{{.*}} {axis = 1 : i64, graph.dims = {{.*}}, k = [#graph.dim<"u0">], largest = false}
  %0:2 = graph.top_k %x {axis = 1 : i64, graph.dims = [[2, #graph.dim<"u0">, 4], [2, #graph.dim<"u0">, 4]], k = [#graph.dim<"u0">], largest = false} : (tensor<2x?x4xf32>) -> (tensor<2x?x4xf32>, tensor<2x?x4xi64>)
  // CHECK: graph.det %{{.*}} : (tensor<5x3x3xf64>) -> tensor<5xf64>
  %1 = graph.det %m : (tensor<5x3x3xf64>) -> tensor<5xf64>
  return
}

// -----

// CHECK-LABEL: @fourier
func.func @fourier(%x: tensor<2x?x1xf32> {graph.dims = [2, #graph.dim<"n">, 1]}, %c: tensor<9x2xf64>, %n: tensor<i64>) {
  // CHECK: graph.fourier %{{.*}}, %{{.*}} {axis = 1 : i64, graph.dims = {{.*}}, length = [#graph.dim<"n">]} : (tensor<2x?x1xf32>, tensor<i64>) -> tensor<2x?x2xf32>
  %0 = graph.fourier %x, %n {axis = 1 : i64, length = [#graph.dim<"n">], graph.dims = [[2, #graph.dim<"n">, 2]]} : (tensor<2x?x1xf32>, tensor<i64>) -> tensor<2x?x2xf32>
  // CHECK: graph.fourier %{{.*}}, %{{.*}} {axis = 0 : i64, length = [7], onesided = true} : (tensor<9x2xf64>, tensor<i64>) -> tensor<4x2xf64>
  %1 = graph.fourier %c, %n {axis = 0 : i64, length = [7], onesided = true} : (tensor<9x2xf64>, tensor<i64>) -> tensor<4x2xf64>
  // CHECK: graph.fourier %{{.*}}, %{{.*}} {axis = 0 : i64, inverse = true, length = [16], onesided = true} : (tensor<9x2xf64>, tensor<i64>) -> tensor<16x1xf64>
  %2 = graph.fourier %c, %n {axis = 0 : i64, length = [16], inverse = true, onesided = true} : (tensor<9x2xf64>, tensor<i64>) -> tensor<16x1xf64>
  return
}

// -----

// The size of the result depends on data. The symbol in `count` represents it.
// CHECK-LABEL: @counted
func.func @counted(%x: tensor<2x3xf32>, %c: tensor<3xi1>, %b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %limit: tensor<i64>) {
  // CHECK: graph.non_zero %{{.*}} {count = "n0", graph.dims = {{\[\[}}2, #graph.dim<"n0">]]} : (tensor<2x3xf32>) -> tensor<2x?xi64>
  %0 = graph.non_zero %x {count = "n0", graph.dims = [[2, #graph.dim<"n0">]]} : (tensor<2x3xf32>) -> tensor<2x?xi64>
  // CHECK: graph.compress %{{.*}}, %{{.*}} {axis = 1 : i64, count = "n1", graph.dims = {{\[\[}}2, #graph.dim<"n1">]]}
  %1 = graph.compress %x, %c {axis = 1 : i64, count = "n1", graph.dims = [[2, #graph.dim<"n1">]]} : (tensor<2x3xf32>, tensor<3xi1>) -> tensor<2x?xf32>
  // CHECK: graph.unique %{{.*}} {count = "n2", graph.dims = {{.*}}, resultSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<2x3xf32>) -> (tensor<?xf32>, tensor<6xi64>)
  %2:2 = graph.unique %x {count = "n2", graph.dims = [[#graph.dim<"n2">], [6]], resultSegmentSizes = array<i32: 1, 0, 1, 0>} : (tensor<2x3xf32>) -> (tensor<?xf32>, tensor<6xi64>)
  // CHECK: graph.non_max_suppression %{{.*}} {count = "n3", {{.*}}maxPerClass = 2 : i64
  %3 = graph.non_max_suppression %b, %s, %limit {count = "n3", graph.dims = [[#graph.dim<"n3">, 3]], maxPerClass = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<i64>) -> tensor<?x3xi64>
  return
}

// -----

// CHECK-LABEL: @random
func.func @random(%x: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"n">]}) {
  // CHECK: graph.random_normal {{ *}}{elementType = f16
  %0 = graph.random_normal {elementType = f16, hasSeed = true, seed = 3 : i64, mean = 0.0 : f32, scale = 1.0 : f32, shape = [2, 3]} : () -> tensor<2x3xf16>
  // CHECK: graph.random_uniform {{.*}} -> tensor<2x?xf32>
  %1 = graph.random_uniform {elementType = f32, hasSeed = false, seed = 3 : i64, low = 0.0 : f32, high = 1.0 : f32, shape = [2, #graph.dim<"n">], graph.dims = [[2, #graph.dim<"n">]]} : () -> tensor<2x?xf32>
  // CHECK: graph.bernoulli %{{.*}} -> tensor<2x?xi1>
  %2 = graph.bernoulli %x {elementType = i1, hasSeed = false, seed = 0 : i64, graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf32>) -> tensor<2x?xi1>
  // CHECK: graph.multinomial %{{.*}} -> tensor<2x5xi32>
  %3 = graph.multinomial %x {elementType = i32, hasSeed = false, seed = 0 : i64, samples = 5 : i64} : (tensor<2x?xf32>) -> tensor<2x5xi32>
  return
}

// -----

func.func @too_many(%x: tensor<3xf32>) {
  // expected-error @below {{takes 4 of 3 elements}}
  %0:2 = graph.top_k %x {axis = 0 : i64, k = [4]} : (tensor<3xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @unordered(%x: tensor<3xf8E4M3FN>) {
  // expected-error @below {{has elements without an order: 'f8E4M3FN'}}
  %0:2 = graph.top_k %x {axis = 0 : i64, k = [1]} : (tensor<3xf8E4M3FN>) -> (tensor<1xf8E4M3FN>, tensor<1xi64>)
  return
}

// -----

func.func @not_square(%x: tensor<2x3xf32>) {
  // expected-error @below {{takes square matrices, not 2 x 3}}
  %0 = graph.det %x : (tensor<2x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @condition(%x: tensor<2x3xf32>, %c: tensor<3xi64>) {
  // expected-error @below {{the condition must be a 1-D bool tensor}}
  %0 = graph.compress %x, %c {count = "n0", graph.dims = [[#graph.dim<"n0">]]} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is outside of rank 2}}
  %0 = graph.unique %x {axis = 2 : i64, count = "n0", graph.dims = [[#graph.dim<"n0">]], resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (tensor<2x3xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @boxes(%b: tensor<1x6x5xf32>, %s: tensor<1x2x6xf32>) {
  // expected-error @below {{needs boxes [batch, n, 4] and scores [batch, classes, n] of f32}}
  %0 = graph.non_max_suppression %b, %s {count = "n0", graph.dims = [[#graph.dim<"n0">, 3]], operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x6x5xf32>, tensor<1x2x6xf32>) -> tensor<?x3xi64>
  return
}

// -----

func.func @integers() {
  // expected-error @below {{needs a shape, and a float type of 16 bits or more}}
  %0 = graph.random_normal {elementType = i32, hasSeed = true, seed = 3 : i64, mean = 0.0 : f32, scale = 1.0 : f32, shape = [2]} : () -> tensor<2xi32>
  return
}

// -----

// Random numbers of NumPy's legacy generator, determined by a seed.
// CHECK-LABEL: func.func @mersenne
func.func @mersenne() {
  // CHECK: graph.mersenne  {seed = 7 : i64, shape = [3]} : () -> tensor<3xf64>
  %0 = graph.mersenne {shape = [3], seed = 7} : () -> tensor<3xf64>
  return
}

// -----

func.func @k(%x: tensor<3xf32>) {
  // expected-error @below {{needs one k, and an axis within rank 1}}
  %0:2 = graph.top_k %x {axis = 0, k = [1, 2]} : (tensor<3xf32>) -> (tensor<1xf32>, tensor<1xi64>)
  return
}

// -----

func.func @matrices(%x: tensor<3x3xi32>) {
  // expected-error @below {{needs matrices of floats}}
  %0 = graph.det %x : (tensor<3x3xi32>) -> tensor<i32>
  return
}

// -----

func.func @zeros(%x: tensor<2x3xf8E4M3FN>) {
  // expected-error @below {{cannot compare elements with zero: type 'f8E4M3FN'}}
  %0 = graph.non_zero %x {count = "n0", graph.dims = [[2, #graph.dim<"n0">]]} : (tensor<2x3xf8E4M3FN>) -> tensor<2x?xi64>
  return
}

// -----

func.func @less_than_a_byte(%x: tensor<3xi4>, %c: tensor<3xi1>) {
  // expected-error @below {{does not support elements below 8 bits: 'i4'}}
  %0 = graph.compress %x, %c {count = "n0", graph.dims = [[#graph.dim<"n0">]]} : (tensor<3xi4>, tensor<3xi1>) -> tensor<?xi4>
  return
}

// -----

func.func @compared(%x: tensor<3xf8E4M3FN>) {
  // expected-error @below {{can't compare elements of type 'f8E4M3FN'}}
  %0 = graph.unique %x {count = "n0", graph.dims = [[#graph.dim<"n0">]], resultSegmentSizes = array<i32: 1, 0, 0, 0>} : (tensor<3xf8E4M3FN>) -> tensor<?xf8E4M3FN>
  return
}

// -----

func.func @limits(%b: tensor<1x6x4xf32>, %s: tensor<1x2x6xf32>, %limit: tensor<2xi64>) {
  // expected-error @below {{limits must be scalars: one i64 and two f32}}
  %0 = graph.non_max_suppression %b, %s, %limit {count = "n0", graph.dims = [[#graph.dim<"n0">, 3]], operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<1x6x4xf32>, tensor<1x2x6xf32>, tensor<2xi64>) -> tensor<?x3xi64>
  return
}

// -----

func.func @probabilities(%x: tensor<2xi32>) {
  // expected-error @below {{needs probabilities of a float type, and a result of numbers of a byte or more}}
  %0 = graph.bernoulli %x {elementType = i1, hasSeed = false, seed = 0 : i64} : (tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @samples(%x: tensor<2xf32>) {
  // expected-error @below {{needs [batch, classes] of floats, a number of samples, and i32 or i64 as result}}
  %0 = graph.multinomial %x {elementType = i32, hasSeed = false, seed = 0 : i64, samples = 5 : i64} : (tensor<2xf32>) -> tensor<2x5xi32>
  return
}

// -----

func.func @fourier_type(%x: tensor<4x1xi32>, %n: tensor<i64>) {
  // expected-error @below {{needs elements of f32 or f64, not 'i32'}}
  %0 = graph.fourier %x, %n {axis = 0 : i64, length = [4]} : (tensor<4x1xi32>, tensor<i64>) -> tensor<4x2xi32>
  return
}

// -----

func.func @fourier_axis(%x: tensor<4x1xf32>, %n: tensor<i64>) {
  // expected-error @below {{needs one length, and an axis before the last of 2 dims}}
  %0 = graph.fourier %x, %n {axis = 1 : i64, length = [4]} : (tensor<4x1xf32>, tensor<i64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @fourier_parts(%x: tensor<4x3xf32>, %n: tensor<i64>) {
  // expected-error @below {{needs a last dim of 1 or 2, not 3}}
  %0 = graph.fourier %x, %n {axis = 0 : i64, length = [4]} : (tensor<4x3xf32>, tensor<i64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @fourier_length(%x: tensor<4x1xf32>, %n: tensor<2xi64>) {
  // expected-error @below {{needs the length as an i64 scalar}}
  %0 = graph.fourier %x, %n {axis = 0 : i64, length = [4]} : (tensor<4x1xf32>, tensor<2xi64>) -> tensor<4x2xf32>
  return
}
