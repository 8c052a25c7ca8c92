// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Interpolation along a dim, at the positions of a grid, and at offset positions; and col2im.

// CHECK-LABEL: func.func @resampled
func.func @resampled(%x: tensor<1x3x8x8xf32>, %given: tensor<3xf64>, %grid: tensor<1x4x5x2xf32>) {
  // CHECK: graph.resize %{{.*}} {antialias = true, coordinates = "half_pixel", dim = 2 : i64, mode = "cubic", scale = 2.000000e+00 : f64, size = [16]} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  %0 = graph.resize %x {dim = 2, size = [16], scale = 2.0 : f64, mode = "cubic", coordinates = "half_pixel", antialias = true} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  // CHECK: graph.resize %{{.*}}, %{{.*}} {coordinates = "asymmetric", dim = 3 : i64, graph.dims = {{\[\[}}1, 3, 8, #graph.dim<"n">{{\]\]}}, mode = "nearest", nearest = "ceil", scale = -1.000000e+00 : f64, size = [#graph.dim<"n">]} : (tensor<1x3x8x8xf32>, tensor<3xf64>) -> tensor<1x3x8x?xf32>
  %1 = graph.resize %x, %given {dim = 3, size = [#graph.dim<"n">], scale = -1.0 : f64, mode = "nearest", coordinates = "asymmetric", nearest = "ceil", graph.dims = [[1, 3, 8, #graph.dim<"n">]]} : (tensor<1x3x8x8xf32>, tensor<3xf64>) -> tensor<1x3x8x?xf32>
  // CHECK: graph.grid_sample %{{.*}}, %{{.*}} {alignCorners = false, mode = "linear", padding = "border"} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  %2 = graph.grid_sample %x, %grid {mode = "linear", padding = "border", alignCorners = false} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  return
}

// -----

// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<1x3x8x8xf32>, %o: tensor<1x8x7x7xf32>, %m: tensor<1x4x7x7xf32>, %w: tensor<1x3x4x4x2x2xf32>) {
  // CHECK: graph.deform_columns %{{.*}}, %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, kernel = array<i64: 2, 2>, low = [0, 0], offsetGroups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x8x7x7xf32>, tensor<1x4x7x7xf32>) -> tensor<1x3x2x2x7x7xf32>
  %0 = graph.deform_columns %x, %o, %m {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = [0, 0], offsetGroups = 1} : (tensor<1x3x8x8xf32>, tensor<1x8x7x7xf32>, tensor<1x4x7x7xf32>) -> tensor<1x3x2x2x7x7xf32>
  // CHECK: graph.unwindow %{{.*}} {dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, sizes = [8, 8], strides = array<i64: 2, 2>} : (tensor<1x3x4x4x2x2xf32>) -> tensor<1x3x8x8x2x2xf32>
  %1 = graph.unwindow %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, sizes = [8, 8]} : (tensor<1x3x4x4x2x2xf32>) -> tensor<1x3x8x8x2x2xf32>
  return
}

// -----

func.func @dim(%x: tensor<2x3xf32>) {
  // expected-error @below {{needs a dim of the operand and its new size}}
  %0 = graph.resize %x {dim = 2, size = [16], scale = 2.0 : f64, mode = "cubic", coordinates = "half_pixel"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @strings(%x: tensor<2x!handle.string>) {
  // expected-error @below {{does not support strings}}
  %0 = graph.resize %x {dim = 0, size = [4], scale = 2.0 : f64, mode = "nearest", coordinates = "half_pixel"} : (tensor<2x!handle.string>) -> tensor<4x!handle.string>
  return
}

// -----

func.func @mode(%x: tensor<2x3xf32>) {
  // expected-error @below {{mode 'lanczos' is none of nearest, linear, cubic}}
  %0 = graph.resize %x {dim = 1, size = [6], scale = 2.0 : f64, mode = "lanczos", coordinates = "half_pixel"} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @rounding(%x: tensor<2x3xf32>) {
  // expected-error @below {{nearest mode 'even' is unknown}}
  %0 = graph.resize %x {dim = 1, size = [6], scale = 2.0 : f64, mode = "nearest", coordinates = "half_pixel", nearest = "even"} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @coordinates(%x: tensor<2x3xf32>) {
  // expected-error @below {{coordinates 'polar' are unknown}}
  %0 = graph.resize %x {dim = 1, size = [6], scale = 2.0 : f64, mode = "nearest", coordinates = "polar"} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @integers(%x: tensor<2x3xi32>) {
  // expected-error @below {{interpolation requires floats}}
  %0 = graph.resize %x {dim = 1, size = [6], scale = 2.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<2x3xi32>) -> tensor<2x6xi32>
  return
}

// -----

func.func @given(%x: tensor<2x3xf32>) {
  // expected-error @below {{requires a 'given' operand of three f64 values for a dynamic scale, and a non-negative scale otherwise}}
  %0 = graph.resize %x {dim = 1, size = [6], scale = -1.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @antialias(%x: tensor<2x99xf32>) {
  // expected-error @below {{antialiasing requires a constant scale, and at most 16 weights per element}}
  %0 = graph.resize %x {dim = 1, size = [11], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", antialias = true} : (tensor<2x99xf32>) -> tensor<2x11xf32>
  return
}

// -----

func.func @grid(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x5x3xf32>) {
  // expected-error @below {{the grid must have the operand's rank and one coordinate per spatial dim in its last dim}}
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "border", alignCorners = false} : (tensor<1x3x8x8xf32>, tensor<1x4x5x3xf32>) -> tensor<1x3x4x5xf32>
  return
}

// -----

func.func @sampled_integers(%x: tensor<1x3x8x8xi32>, %g: tensor<1x4x5x2xf32>) {
  // expected-error @below {{requires floats}}
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "border", alignCorners = false} : (tensor<1x3x8x8xi32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xi32>
  return
}

// -----

func.func @padding(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x5x2xf32>) {
  // expected-error @below {{mode 'linear' with padding 'wrap' is not supported}}
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "wrap", alignCorners = false} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  return
}

// -----

func.func @nothing(%x: tensor<1x3x0x8xf32>, %g: tensor<1x4x5x2xf32>) {
  // expected-error @below {{samples along dim 2, which has no elements}}
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "border", alignCorners = false} : (tensor<1x3x0x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  return
}

// -----

func.func @deformed_rank(%x: tensor<1x3x8xf32>, %o: tensor<1x8x7x7xf32>) {
  // expected-error @below {{requires floats with two spatial dims}}
  %0 = graph.deform_columns %x, %o {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = [0, 0], offsetGroups = 1} : (tensor<1x3x8xf32>, tensor<1x8x7x7xf32>) -> tensor<1x3x2x2x7x7xf32>
  return
}

// -----

func.func @offsets(%x: tensor<1x3x8x8xf32>, %o: tensor<1x9x7x7xf32>) {
  // expected-error @below {{offsets have 9 channels instead of 8}}
  %0 = graph.deform_columns %x, %o {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = [0, 0], offsetGroups = 1} : (tensor<1x3x8x8xf32>, tensor<1x9x7x7xf32>) -> tensor<1x3x2x2x7x7xf32>
  return
}

// -----

func.func @mask(%x: tensor<1x3x8x8xf32>, %o: tensor<1x8x7x7xf32>, %m: tensor<1x5x7x7xf32>) {
  // expected-error @below {{shape mismatch between mask and offsets}}
  %0 = graph.deform_columns %x, %o, %m {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = [0, 0], offsetGroups = 1} : (tensor<1x3x8x8xf32>, tensor<1x8x7x7xf32>, tensor<1x5x7x7xf32>) -> tensor<1x3x2x2x7x7xf32>
  return
}

// -----

func.func @unwindowed(%w: tensor<1x3x4x4x2x2xf32>) {
  // expected-error @below {{strides, dilations, low and sizes must have one entry per windowed dim}}
  %0 = graph.unwindow %w {strides = array<i64: 2, 2>, dilations = array<i64: 1>, low = array<i64: 0, 0>, sizes = [8, 8]} : (tensor<1x3x4x4x2x2xf32>) -> tensor<1x3x8x8x2x2xf32>
  return
}
