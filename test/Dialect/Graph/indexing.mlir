// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Indexing ops, which define for each element of the result which element of the operand it is.

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<2x3x4xf32>, %n: tensor<?x6xf32> {graph.dims = [#graph.dim<"n">, 6]}) {
  // CHECK: graph.transpose %{{.*}} {order = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %0 = graph.transpose %x {order = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: graph.reshape %{{.*}} {shape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = graph.reshape %x {shape = [6, 4]} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: graph.reshape %{{.*}} {graph.dims = {{\[\[}}#graph.dim<"3*n">, 2{{\]\]}}, shape = [#graph.dim<"3*n">, 2]} : (tensor<?x6xf32>) -> tensor<?x2xf32>
  %2 = graph.reshape %n {shape = [#graph.dim<"3*n">, 2], graph.dims = [[#graph.dim<"3*n">, 2]]} : (tensor<?x6xf32>) -> tensor<?x2xf32>
  return
}

// -----

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<2x3x4xf32>, %y: tensor<2x1x4xf32>, %v: tensor<f32>, %i: tensor<5xi64>) {
  // CHECK: graph.slice %{{.*}} {offsets = [0, 2, 1], sizes = [2, 2, 2], steps = array<i64: 1, -1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  %0 = graph.slice %x {offsets = [0, 2, 1], sizes = [2, 2, 2], steps = array<i64: 1, -1, 2>} : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
  %1 = graph.concat %x, %y {axis = 1} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: graph.expand %{{.*}} {shape = [5, 2, 3, 4]} : (tensor<2x1x4xf32>) -> tensor<5x2x3x4xf32>
  %2 = graph.expand %y {shape = [5, 2, 3, 4]} : (tensor<2x1x4xf32>) -> tensor<5x2x3x4xf32>
  // CHECK: graph.pad %{{.*}} {high = [0, -1, 2], low = [0, 1, 0], mode = "edge"} : (tensor<2x3x4xf32>) -> tensor<2x3x6xf32>
  %3 = graph.pad %x {low = [0, 1, 0], high = [0, -1, 2], mode = "edge"} : (tensor<2x3x4xf32>) -> tensor<2x3x6xf32>
  // CHECK: graph.pad %{{.*}}, %{{.*}} {high = [0, 0, 0], low = [0, 1, 0]} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  %4 = graph.pad %x, %v {low = [0, 1, 0], high = [0, 0, 0]} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x4x4xf32>
  // CHECK: graph.gather %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<2x5x4xf32>
  %5 = graph.gather %x, %i {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<2x5x4xf32>
  return
}

// -----

// This view of a tensor has its split-K partials as a separate dim.
// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<3x5xf32>) {
  // CHECK: graph.spread %{{.*}} {parts = 4 : i64} : (tensor<3x5xf32>) -> tensor<4x3x5xf32>
  %0 = graph.spread %x {parts = 4} : (tensor<3x5xf32>) -> tensor<4x3x5xf32>
  return
}

// -----

// Tests the op that reads windows of 2 x 2 elements with stride two.
// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<1x3x8x8xf32>) {
  // CHECK: graph.window %{{.*}} {dilations = array<i64: 1, 1>, fill = 0.000000e+00 : f64, kernel = array<i64: 2, 2>, low = array<i64: 0, 0>, sizes = [4, 4], strides = array<i64: 2, 2>} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4x2x2xf32>
  %0 = graph.window %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, sizes = [4, 4], fill = 0.0 : f64} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4x2x2xf32>
  return
}

// -----

func.func @order_twice(%x: tensor<2x3xf32>) {
  // expected-error @below {{order must name each of the operand's dims once}}
  %0 = graph.transpose %x {order = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @order_short(%x: tensor<2x3xf32>) {
  // expected-error @below {{order must name each of the operand's dims once}}
  %0 = graph.transpose %x {order = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @elements(%x: tensor<2x3xf32>) {
  // expected-error @below {{reshapes 6 elements into 8}}
  %0 = graph.reshape %x {shape = [4, 2]} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @shape(%x: tensor<2x3xf32>) {
  // expected-error @below {{attribute 'shape' must be a list of integers and expressions}}
  %0 = graph.reshape %x {shape = [1.0]} : (tensor<2x3xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @slice_entries(%x: tensor<2x3xf32>) {
  // expected-error @below {{offsets, sizes and steps must have 2 entries}}
  %0 = graph.slice %x {offsets = [0], sizes = [2], steps = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_reach(%x: tensor<2x3xf32>) {
  // expected-error @below {{reads elements 2 to 3 of a dim of size 3}}
  %0 = graph.slice %x {offsets = [0, 2], sizes = [2, 2], steps = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @nothing() {
  // expected-error @below {{needs an operand}}
  %0 = graph.concat {axis = 0} : () -> tensor<2xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<2x3xf32>) {
  // expected-error @below {{axis 2 is outside of rank 2}}
  %0 = graph.concat %x {axis = 2} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @concat_rank(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{operands differ in rank}}
  %0 = graph.concat %x, %y {axis = 0} : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concat_dim(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{operands differ in dim 1: 3 and 4}}
  %0 = graph.concat %x, %y {axis = 0} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @broadcast(%x: tensor<2x3xf32>) {
  // expected-error @below {{operand does not broadcast to the shape}}
  %0 = graph.expand %x {shape = [2, 4]} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @pad_entries(%x: tensor<2x3xf32>) {
  // expected-error @below {{low and high must have 2 entries}}
  %0 = graph.pad %x {low = [0], high = [0, 0]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_mode(%x: tensor<2x3xf32>) {
  // expected-error @below {{mode 'mirror' is none of constant, reflect, edge, wrap}}
  %0 = graph.pad %x {low = [0, 0], high = [0, 0], mode = "mirror"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_reflects(%x: tensor<2x3xf32>) {
  // expected-error @below {{reflects 3 elements at an end of dim 1, which has 3}}
  %0 = graph.pad %x {low = [0, 2], high = [1, 3], mode = "reflect"} : (tensor<2x3xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<2x3xf32>, %v: tensor<i64>) {
  // expected-error @below {{value must be a scalar of the operand's element type}}
  %0 = graph.pad %x, %v {low = [0, 0], high = [0, 0]} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  return
}

// -----

func.func @pad_removes(%x: tensor<2x3xf32>) {
  // expected-error @below {{crops more elements than the dim has}}
  %0 = graph.pad %x {low = [0, -2], high = [0, -2]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @gather_axis(%x: tensor<2x3xf32>, %i: tensor<5xi64>) {
  // expected-error @below {{axis 2 is outside of rank 2}}
  %0 = graph.gather %x, %i {axis = 2} : (tensor<2x3xf32>, tensor<5xi64>) -> tensor<5x3xf32>
  return
}

// -----

func.func @no_parts(%x: tensor<3x5xf32>) {
  // expected-error @below {{requires at least one part}}
  %0 = graph.spread %x {parts = 0} : (tensor<3x5xf32>) -> tensor<0x3x5xf32>
  return
}

// -----

func.func @window_entries(%x: tensor<1x3x8x8xf32>) {
  // expected-error @below {{kernel, strides, dilations, low and sizes must have one entry per windowed dim}}
  %0 = graph.window %x {kernel = array<i64: 2, 2>, strides = array<i64: 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, sizes = [4, 4], fill = 0.0 : f64} : (tensor<1x3x8x8xf32>) -> tensor<1x3x4x4x2x2xf32>
  return
}
