// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Strings: what their ops take and give, and that they move like any element.

// CHECK-LABEL: func.func @moves
// CHECK: graph.transpose {{.*}} : (tensor<2x3x!handle.string>) -> tensor<3x2x!handle.string>
func.func @moves(%x: tensor<2x3x!handle.string>) -> tensor<3x2x!handle.string> {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<2x3x!handle.string>) -> tensor<3x2x!handle.string>
  return %0 : tensor<3x2x!handle.string>
}

// -----

// CHECK-LABEL: func.func @parts
// CHECK: graph.text {{.*}} -> tensor<2x!handle.string>
// CHECK: graph.text_equal {{.*}} -> tensor<2xi1>
// CHECK: graph.lookup {{.*}} -> tensor<2xi64>
func.func @parts(%x: tensor<2x!handle.string>, %bytes: tensor<5xui8>, %starts: tensor<2xi64>) -> (tensor<2xi1>, tensor<2xi64>) {
  %0 = graph.text %bytes, %starts : (tensor<5xui8>, tensor<2xi64>) -> tensor<2x!handle.string>
  %1 = graph.text_equal %x, %0 : (tensor<2x!handle.string>, tensor<2x!handle.string>) -> tensor<2xi1>
  %2 = graph.lookup %x, %0 {text = true} : (tensor<2x!handle.string>, tensor<2x!handle.string>) -> tensor<2xi64>
  return %1, %2 : tensor<2xi1>, tensor<2xi64>
}

// -----

func.func @numbers(%x: tensor<2xf32>) {
  // expected-error @below {{takes strings}}
  %0 = graph.text_concat %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @shapes(%x: tensor<2x!handle.string>, %y: tensor<3x!handle.string>) {
  // expected-error @below {{takes strings of one shape}}
  %0 = graph.text_equal %x, %y : (tensor<2x!handle.string>, tensor<3x!handle.string>) -> tensor<2xi1>
  return
}

// -----

func.func @weighed(%x: tensor<2x!handle.string>) {
  // expected-error @below {{weighs elements, which strings are not}}
  %0 = graph.resize %x {dim = 0 : i64, size = [4], scale = 2.0 : f64, mode = "linear", coordinates = "half_pixel", nearest = "floor", cubicCoeff = -0.75 : f64, excludeOutside = false, extrapolate = 0.0 : f64} : (tensor<2x!handle.string>) -> tensor<4x!handle.string>
  return
}

// -----

// expected-error @below {{-5 is no rank}}
func.func @rank(%x: tensor<!handle.sequence<f32, -5>>) {
  return
}
