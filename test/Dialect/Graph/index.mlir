// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Gathers, triangles, diagonals and ranges.

// CHECK-LABEL: func.func @indices
func.func @indices(%x: tensor<2x3xf32>, %e: tensor<2x5xi64>, %n: tensor<4x1xi32>, %i: tensor<4xi64>, %v: tensor<2xf16>) {
  // CHECK: graph.tile %{{.*}} {repeats = [1, 2]} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  %0 = graph.tile %x {repeats = [1, 2]} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: graph.gather_elements %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  %1 = graph.gather_elements %x, %e {axis = 1} : (tensor<2x3xf32>, tensor<2x5xi64>) -> tensor<2x5xf32>
  // CHECK: graph.gather_nd %{{.*}}, %{{.*}} {batchDims = 0 : i64} : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  %2 = graph.gather_nd %x, %n {batchDims = 0} : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  // CHECK: graph.one_hot %{{.*}}, %{{.*}} {axis = -1 : i64, depth = [7]} : (tensor<4xi64>, tensor<2xf16>) -> tensor<4x7xf16>
  %3 = graph.one_hot %i, %v {depth = [7], axis = -1} : (tensor<4xi64>, tensor<2xf16>) -> tensor<4x7xf16>
  return
}

// -----

// CHECK-LABEL: func.func @matrices
func.func @matrices(%x: tensor<4x3x3xf32>, %s: tensor<i32>, %l: tensor<3xi64>) {
  // CHECK: graph.trilu %{{.*}} {k = [1], upper = true} : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  %0 = graph.trilu %x {k = [1], upper = true} : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  // CHECK: graph.eye  {elementType = i8, graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}, k = -1 : i64, shape = [2, #graph.dim<"n">]} : () -> tensor<2x?xi8>
  %1 = graph.eye {shape = [2, #graph.dim<"n">], k = -1, elementType = i8, graph.dims = [[2, #graph.dim<"n">]]} : () -> tensor<2x?xi8>
  // CHECK: graph.range %{{.*}}, %{{.*}} {count = [5]} : (tensor<i32>, tensor<i32>) -> tensor<5xi32>
  %2 = graph.range %s, %s {count = [5]} : (tensor<i32>, tensor<i32>) -> tensor<5xi32>
  // CHECK: graph.diagonal %{{.*}} {dims = array<i64: 1, 2>} : (tensor<4x3x3xf32>) -> tensor<3x4xf32>
  %3 = graph.diagonal %x {dims = array<i64: 1, 2>} : (tensor<4x3x3xf32>) -> tensor<3x4xf32>
  // CHECK: graph.reverse_sequence %{{.*}}, %{{.*}} {batchAxis = 1 : i64, timeAxis = 0 : i64} : (tensor<4x3x3xf32>, tensor<3xi64>) -> tensor<4x3x3xf32>
  %4 = graph.reverse_sequence %x, %l {batchAxis = 1, timeAxis = 0} : (tensor<4x3x3xf32>, tensor<3xi64>) -> tensor<4x3x3xf32>
  // CHECK: graph.dilate %{{.*}} {factors = array<i64: 1, 2, 3>} : (tensor<4x3x3xf32>) -> tensor<4x5x7xf32>
  %5 = graph.dilate %x {factors = array<i64: 1, 2, 3>} : (tensor<4x3x3xf32>) -> tensor<4x5x7xf32>
  return
}

// -----

func.func @repeats(%x: tensor<2x3xf32>) {
  // expected-error @below {{repeats must have 2 entries}}
  %0 = graph.tile %x {repeats = [2]} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @repeated_less(%x: tensor<2x3xf32>) {
  // expected-error @below {{repeats must not be negative}}
  %0 = graph.tile %x {repeats = [1, -2]} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @ranks(%x: tensor<2x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{operand and indices differ in rank}}
  %0 = graph.gather_elements %x, %i {axis = 1} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_axis(%x: tensor<2x3xf32>, %i: tensor<2x3xi64>) {
  // expected-error @below {{axis 2 is outside of rank 2}}
  %0 = graph.gather_elements %x, %i {axis = 2} : (tensor<2x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch(%x: tensor<2x3xf32>, %i: tensor<4x1xi32>) {
  // expected-error @below {{batchDims must be less than both ranks}}
  %0 = graph.gather_nd %x, %i {batchDims = 2} : (tensor<2x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @depth(%x: tensor<2x3xf32>, %i: tensor<4x3xi32>) {
  // expected-error @below {{the last dim of the indices must be an index into the operand}}
  %0 = graph.gather_nd %x, %i {batchDims = 0} : (tensor<2x3xf32>, tensor<4x3xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @hot(%i: tensor<4xf32>, %v: tensor<2xf16>) {
  // expected-error @below {{needs integer indices, two values, one depth and an axis of the result}}
  %0 = graph.one_hot %i, %v {depth = [7], axis = -1} : (tensor<4xf32>, tensor<2xf16>) -> tensor<4x7xf16>
  return
}

// -----

func.func @triangle(%x: tensor<3xf32>) {
  // expected-error @below {{needs an operand of rank 2 or more and one diagonal}}
  %0 = graph.trilu %x {k = [1], upper = true} : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @eye_shape() {
  // expected-error @below {{needs the shape of a matrix}}
  %0 = graph.eye {shape = [2], k = 0, elementType = f32} : () -> tensor<2xf32>
  return
}

// -----

func.func @range_types(%s: tensor<i32>, %d: tensor<i64>) {
  // expected-error @below {{needs two scalars of one type and one count}}
  %0 = graph.range %s, %d {count = [5]} : (tensor<i32>, tensor<i64>) -> tensor<5xi32>
  return
}

// -----

func.func @diagonal_order(%x: tensor<4x3x3xf32>) {
  // expected-error @below {{dims must be ascending and within the operand's rank}}
  %0 = graph.diagonal %x {dims = array<i64: 2, 1>} : (tensor<4x3x3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @diagonal_of_nothing(%x: tensor<4x3x3xf32>) {
  // expected-error @below {{needs a dim}}
  %0 = graph.diagonal %x {dims = array<i64>} : (tensor<4x3x3xf32>) -> tensor<4x3x3xf32>
  return
}

// -----

func.func @one_axis(%x: tensor<4x3xf32>, %l: tensor<3xi64>) {
  // expected-error @below {{requires two different axes of the operand and lengths of rank 1}}
  %0 = graph.reverse_sequence %x, %l {batchAxis = 1, timeAxis = 1} : (tensor<4x3xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @factors(%x: tensor<4x3xf32>) {
  // expected-error @below {{factors must be 2 positive numbers}}
  %0 = graph.dilate %x {factors = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}
