// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Custom ops: their definition is in their attributes.

// CHECK-LABEL: func.func @known
// CHECK: graph.custom {{.*}} -> (tensor<?x2x?xf32>, tensor<?xi64>)
func.func @known(%x: tensor<?x?xf32> {graph.dims = [#graph.dim<"a">, #graph.dim<"b">]}) -> (tensor<?x2x?xf32>, tensor<?xi64>) {
  %0:2 = graph.custom %x {function = "f", values = [3, unit, "text", 2.0 : f64, array<i64: 1, 2>, array<f32: 1.0>, ["p", "q"]], numTensors = 0 : i64,
    operandSegmentSizes = array<i32: 1, 0>, inputDims = [[#graph.dim<"n">, #graph.dim<"m">], unit], text = array<i1: false, false, false, false>, sizeNames = [],
    outputDims = [[#graph.dim<"n">, 2, #graph.dim<"floordiv(m, 2)">], [#graph.dim<"n*m">]], outputTypes = [f32, i64], sizes = [], bounds = [],
    graph.dims = [[#graph.dim<"a">, 2, #graph.dim<"floordiv(b, 2)">], [#graph.dim<"a*b">]]} : (tensor<?x?xf32>) -> (tensor<?x2x?xf32>, tensor<?xi64>)
  return %0#0, %0#1 : tensor<?x2x?xf32>, tensor<?xi64>
}

// -----

// CHECK-LABEL: func.func @told
// CHECK: graph.custom_sizes
// CHECK: graph.custom {{.*}} -> tensor<?xf32>
func.func @told(%x: tensor<4xf32>) -> tensor<?xf32> {
  %0 = graph.custom_sizes %x {function = "s", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">]],
    text = array<i1: false>, sizeNames = ["k"]} : (tensor<4xf32>) -> tensor<1xi64>
  graph.read_symbol "u0" = %0[0] : tensor<1xi64>
  %1 = graph.custom %0, %x {function = "f", values = [], numTensors = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, inputDims = [[#graph.dim<"n">]],
    text = array<i1: false, false, false>, sizeNames = ["k"], outputDims = [[#graph.dim<"k + n">]], outputTypes = [f32], sizes = ["u0"], bounds = [unit],
    graph.dims = [[#graph.dim<"u0 + 4">]]} : (tensor<1xi64>, tensor<4xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

func.func @rank(%x: tensor<4xf32>) {
  // expected-error @below {{input 0 has dims [4], but its definition requires [n, m]}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">, #graph.dim<"m">]],
    text = array<i1: false, false>, sizeNames = [], outputDims = [[#graph.dim<"n">]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unlike(%x: tensor<4xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{has an input with a dim of 3 where its definition requires 4}}
  %0 = graph.custom %x, %y {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, inputDims = [[#graph.dim<"n">], [#graph.dim<"n">]],
    text = array<i1: false, false, false>, sizeNames = [], outputDims = [[#graph.dim<"n">]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @counted(%x: tensor<4xf32>) {
  // expected-error @below {{is not well-formed: its sizes and results do not match its definition}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">]],
    text = array<i1: false, false>, sizeNames = ["k"], outputDims = [[#graph.dim<"2*k">]], outputTypes = [f32], sizes = ["n0"], bounds = [#graph.dim<"n">], counts,
    graph.dims = [[#graph.dim<"2*n0">]]} : (tensor<4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @segments(%x: tensor<4xf32>) {
  // expected-error @below {{is not well-formed: its attributes do not match its operands and results}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 1 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">]],
    text = array<i1: false, false>, sizeNames = [], outputDims = [[4]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @own(%x: tensor<4xf32>) {
  // expected-error @below {{is not well-formed: its attributes do not match its operands and results}}
  %0 = graph.custom %x {function = "main", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">]],
    text = array<i1: false, false>, sizeNames = [], outputDims = [[4]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unknown_name(%x: tensor<4xf32>) {
  // expected-error @below {{has a dim by the name 'n', which is not a dim of an input or an attribute}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n + m">]], text = array<i1: false, false>, sizeNames = [], outputDims = [[4]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unreadable(%x: tensor<4xf32>) {
  // expected-error @below {{input 0 has dims [4], but its definition requires malformed dims}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[1.0]], text = array<i1: false, false>, sizeNames = [], outputDims = [[4]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @absent_name(%x: tensor<4xf32>) {
  // expected-error @below {{output 0 has a dim 'q' that is not known, because its input or attribute is absent}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">]], text = array<i1: false, false>, sizeNames = [], outputDims = [[#graph.dim<"q">]], outputTypes = [f32], sizes = [], bounds = []} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @larger_than_memory(%x: tensor<4xf32>) {
  // expected-error @below {{has a result 0 whose size in bytes may overflow}}
  %0 = graph.custom %x {function = "f", values = [], numTensors = 0 : i64, operandSegmentSizes = array<i32: 1>, inputDims = [[#graph.dim<"n">]], text = array<i1: false, false>, sizeNames = ["k"], outputDims = [[#graph.dim<"k">]], outputTypes = [f32], sizes = ["n0"], bounds = [9223372036854775807], counts, graph.dims = [[#graph.dim<"n0">]]} : (tensor<4xf32>) -> tensor<?xf32>
  return
}
