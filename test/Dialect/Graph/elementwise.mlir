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
  // expected-error @below {{has no term 2 of 2: there are 2 or 3, counted from 0}}
  %0 = graph.term %x {index = 2, count = 2} : (tensor<2xf32>) -> tensor<2xbf16>
  return
}

// -----

func.func @terms_of(%x: tensor<2xf64>) {
  // expected-error @below {{takes float32, not 'f64'}}
  %0 = graph.term %x {index = 0, count = 2} : (tensor<2xf64>) -> tensor<2xbf16>
  return
}
