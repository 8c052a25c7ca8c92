// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s

// CHECK-LABEL: @arithmetic
func.func @arithmetic(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %i: tensor<3xi32>, %u: tensor<3xui8>) {
  // CHECK: graph.add %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = graph.add %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.pow %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  %1 = graph.pow %x, %i : (tensor<2x3xf32>, tensor<3xi32>) -> tensor<2x3xf32>
  // CHECK: graph.mod %{{.*}}, %{{.*}} {fmod = 1 : i64} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %2 = graph.mod %i, %i {fmod = 1 : i64} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  // CHECK: graph.bit_shift %{{.*}}, %{{.*}} {direction = "LEFT"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  %3 = graph.bit_shift %u, %u {direction = "LEFT"} : (tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>
  // CHECK: graph.sign
  %4 = graph.sign %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.round
  %5 = graph.round %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: @choice
func.func @choice(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // CHECK: %[[LESS:.*]] = graph.less %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  %0 = graph.less %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xi1>
  // CHECK: %[[INF:.*]] = graph.is_inf %{{.*}} {detect_negative = 0 : i64}
  %1 = graph.is_inf %x {detect_negative = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xi1>
  // CHECK: %[[OR:.*]] = graph.or %[[LESS]], %[[INF]]
  %2 = graph.or %0, %1 : (tensor<2x3xi1>, tensor<2x3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.where %[[OR]], %{{.*}}, %{{.*}} : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %3 = graph.where %2, %x, %y : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.bit_cast %{{.*}} {to = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  %4 = graph.bit_cast %x {to = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
  return
}

// -----

// CHECK-LABEL: @activations
func.func @activations(%x: tensor<4xf16>) {
  // CHECK: graph.gelu %{{.*}} {approximate = "tanh"} : (tensor<4xf16>) -> tensor<4xf16>
  %0 = graph.gelu %x {approximate = "tanh"} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.elu %{{.*}} {alpha = 5.000000e-01 : f32}
  %1 = graph.elu %x {alpha = 0.5 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.hard_sigmoid %{{[^{]*}} : (tensor<4xf16>)
  %2 = graph.hard_sigmoid %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.prelu
  %3 = graph.prelu %x, %x : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @mixed(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @below {{operands differ in element type: 'f32' and 'i32'}}
  %0 = graph.add %x, %y : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @apart(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @below {{operands do not broadcast: [2] [3]}}
  %0 = graph.mul %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @integers(%x: tensor<2xi32>) {
  // expected-error @below {{takes floats, not 'i32'}}
  %0 = graph.tanh %x : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

func.func @result(%x: tensor<2xf32>) {
  // expected-error @below {{result 0 has type 'tensor<2xf32>' and must have 'tensor<2xi1>'}}
  %0 = graph.is_nan %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @direction(%x: tensor<2xui8>) {
  // expected-error @below {{direction 'UP' is neither LEFT nor RIGHT}}
  %0 = graph.bit_shift %x, %x {direction = "UP"} : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xui8>
  return
}

// -----

func.func @width(%x: tensor<2xf32>) {
  // expected-error @below {{'f32' and 'i16' differ in width}}
  %0 = graph.bit_cast %x {to = i16} : (tensor<2xf32>) -> tensor<2xi16>
  return
}

// -----

// CHECK-LABEL: @terms
func.func @terms(%x: tensor<2x3xf32>) {
  // CHECK: graph.term %{{.*}} {count = 3 : i64, index = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  %0 = graph.term %x {index = 1, count = 3} : (tensor<2x3xf32>) -> tensor<2x3xbf16>
  return
}

// -----

func.func @no_such_term(%x: tensor<2xf32>) {
  // expected-error @below {{has no component 2 of 2: the count must be 2 or 3, and indices start at 0}}
  %0 = graph.term %x {index = 2, count = 2} : (tensor<2xf32>) -> tensor<2xbf16>
  return
}

// -----

func.func @terms_of(%x: tensor<2xf64>) {
  // expected-error @below {{takes float32, not 'f64'}}
  %0 = graph.term %x {index = 0, count = 2} : (tensor<2xf64>) -> tensor<2xbf16>
  return
}

// -----

// Unary float functions.
// CHECK-LABEL: func.func @functions
func.func @functions(%x: tensor<2x?xf64> {graph.dims = [2, #graph.dim<"n">]}) {
  // CHECK: graph.sqrt %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %0 = graph.sqrt %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.floor %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %1 = graph.floor %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.ceil %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %2 = graph.ceil %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.log %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %3 = graph.log %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.erf %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %4 = graph.erf %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.sin %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %5 = graph.sin %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.cos %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %6 = graph.cos %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.tan %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %7 = graph.tan %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.asin %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %8 = graph.asin %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.acos %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %9 = graph.acos %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.atan %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %10 = graph.atan %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.sinh %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %11 = graph.sinh %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.cosh %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %12 = graph.cosh %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.asinh %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %13 = graph.asinh %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.acosh %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %14 = graph.acosh %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.atanh %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %15 = graph.atanh %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.exp %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %16 = graph.exp %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.reciprocal %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %17 = graph.reciprocal %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.tanh %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %18 = graph.tanh %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.sign %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %19 = graph.sign %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.round %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %20 = graph.round %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.abs %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %21 = graph.abs %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  // CHECK: graph.neg %{{.*}} {graph.dims = {{\[\[}}2, #graph.dim<"n">{{\]\]}}} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  %22 = graph.neg %x {graph.dims = [[2, #graph.dim<"n">]]} : (tensor<2x?xf64>) -> tensor<2x?xf64>
  return
}

// -----

// CHECK-LABEL: func.func @pairs
func.func @pairs(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  // CHECK: graph.sub %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %0 = graph.sub %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.mul %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.div %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = graph.div %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.minimum %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %3 = graph.minimum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: graph.maximum %{{.*}}, %{{.*}} : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %4 = graph.maximum %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: func.func @comparisons
func.func @comparisons(%x: tensor<2x3xi64>, %y: tensor<3xi64>) {
  // CHECK: graph.equal %{{.*}}, %{{.*}} : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  %0 = graph.equal %x, %y : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  // CHECK: graph.less %{{.*}}, %{{.*}} : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  %1 = graph.less %x, %y : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  // CHECK: graph.less_or_equal %{{.*}}, %{{.*}} : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  %2 = graph.less_or_equal %x, %y : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  // CHECK: graph.greater %{{.*}}, %{{.*}} : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  %3 = graph.greater %x, %y : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  // CHECK: graph.greater_or_equal %{{.*}}, %{{.*}} : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  %4 = graph.greater_or_equal %x, %y : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  return
}

// -----

// CHECK-LABEL: func.func @bools
func.func @bools(%x: tensor<2x3xi1>, %y: tensor<3xi1>) {
  // CHECK: graph.and %{{.*}}, %{{.*}} : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %0 = graph.and %x, %y : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.or %{{.*}}, %{{.*}} : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %1 = graph.or %x, %y : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.xor %{{.*}}, %{{.*}} : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  %2 = graph.xor %x, %y : (tensor<2x3xi1>, tensor<3xi1>) -> tensor<2x3xi1>
  // CHECK: graph.not %{{.*}} : (tensor<2x3xi1>) -> tensor<2x3xi1>
  %3 = graph.not %x : (tensor<2x3xi1>) -> tensor<2x3xi1>
  return
}

// -----

// CHECK-LABEL: func.func @bits
func.func @bits(%x: tensor<2x3xui16>, %y: tensor<3xui16>) {
  // CHECK: graph.bitwise_and %{{.*}}, %{{.*}} : (tensor<2x3xui16>, tensor<3xui16>) -> tensor<2x3xui16>
  %0 = graph.bitwise_and %x, %y : (tensor<2x3xui16>, tensor<3xui16>) -> tensor<2x3xui16>
  // CHECK: graph.bitwise_or %{{.*}}, %{{.*}} : (tensor<2x3xui16>, tensor<3xui16>) -> tensor<2x3xui16>
  %1 = graph.bitwise_or %x, %y : (tensor<2x3xui16>, tensor<3xui16>) -> tensor<2x3xui16>
  // CHECK: graph.bitwise_xor %{{.*}}, %{{.*}} : (tensor<2x3xui16>, tensor<3xui16>) -> tensor<2x3xui16>
  %2 = graph.bitwise_xor %x, %y : (tensor<2x3xui16>, tensor<3xui16>) -> tensor<2x3xui16>
  // CHECK: graph.bitwise_not %{{.*}} : (tensor<2x3xui16>) -> tensor<2x3xui16>
  %3 = graph.bitwise_not %x : (tensor<2x3xui16>) -> tensor<2x3xui16>
  return
}

// -----

// graph.relayout copies the elements to another memory layout.
// CHECK-LABEL: func.func @layouts
func.func @layouts(%x: tensor<2x3xf32>) {
  // CHECK: graph.relayout %{{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32, #graph.layout<[1, 0]>>
  %0 = graph.relayout %x : (tensor<2x3xf32>) -> tensor<2x3xf32, #graph.layout<[1, 0]>>
  return
}

// -----

// CHECK-LABEL: func.func @converted
func.func @converted(%x: tensor<4xf32>) {
  // CHECK: graph.cast %{{.*}} {saturate = false, to = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %0 = graph.cast %x {to = i8, saturate = false} : (tensor<4xf32>) -> tensor<4xi8>
  // CHECK: graph.cast %{{.*}} {roundMode = "down", to = f8E8M0FNU} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  %1 = graph.cast %x {to = f8E8M0FNU, roundMode = "down"} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  return
}

// -----

func.func @bools_alone(%x: tensor<2xf32>) {
  // expected-error @below {{takes bools, not 'f32'}}
  %0 = graph.and %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @integers_alone(%x: tensor<2xf32>) {
  // expected-error @below {{takes integers, not 'f32'}}
  %0 = graph.bitwise_not %x : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @numbers_alone(%x: tensor<2xi1>) {
  // expected-error @below {{takes numbers, not 'i1'}}
  %0 = graph.add %x, %x : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

func.func @condition(%x: tensor<2xf32>) {
  // expected-error @below {{requires a bool condition, not 'f32'}}
  %0 = graph.where %x, %x, %x : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @choices(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @below {{operands differ in element type: 'f32' and 'i32'}}
  %0 = graph.where %c, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @overflow(%x: tensor<9223372036854775807xf32>) {
  // expected-error @below {{makes a tensor with a dim that does not fit into 64 bits}}
  %0 = graph.tile %x {repeats = [4]} : (tensor<9223372036854775807xf32>) -> tensor<?xf32>
  return
}
