// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Scatter ops and box sampling: runtime calls, except tensor_scatter.

// CHECK-LABEL: func.func @scatters
func.func @scatters(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf32>, %n: tensor<4x1xi32>, %r: tensor<4x3xf32>) {
  // CHECK: graph.scatter_elements %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, reduction = "max"} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  %0 = graph.scatter_elements %x, %i, %u {axis = 1, reduction = "max"} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  // CHECK: graph.scatter_nd %{{.*}}, %{{.*}}, %{{.*}} {reduction = "add"} : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = graph.scatter_nd %x, %n, %r {reduction = "add"} : (tensor<2x3xf32>, tensor<4x1xi32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// CHECK-LABEL: func.func @cache
func.func @cache(%x: tensor<2x8x4xf16>, %u: tensor<2x1x4xf16>, %s: tensor<2xi64>) {
  // CHECK: graph.tensor_scatter %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : i64, circular = true} : (tensor<2x8x4xf16>, tensor<2x1x4xf16>, tensor<2xi64>) -> tensor<2x8x4xf16>
  %0 = graph.tensor_scatter %x, %u, %s {axis = 1, circular = true} : (tensor<2x8x4xf16>, tensor<2x1x4xf16>, tensor<2xi64>) -> tensor<2x8x4xf16>
  return
}

// -----

// CHECK-LABEL: func.func @boxes
func.func @boxes(%x: tensor<1x3x8x8xf32>, %b: tensor<5x4xf32>, %w: tensor<5x5xf32>, %i: tensor<5xi64>) {
  // CHECK: graph.roi_align %{{.*}}, %{{.*}}, %{{.*}} {halfPixel = true, samplingRatio = 0 : i64, size = array<i64: 2, 2>, spatialScale = 5.000000e-01 : f32, takesMax = false} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  %0 = graph.roi_align %x, %b, %i {size = array<i64: 2, 2>, halfPixel = true, takesMax = false, samplingRatio = 0, spatialScale = 0.5 : f32} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  // CHECK: graph.max_roi_pool %{{.*}}, %{{.*}} {size = array<i64: 2, 2>, spatialScale = 5.000000e-01 : f32} : (tensor<1x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  %1 = graph.max_roi_pool %x, %w {size = array<i64: 2, 2>, spatialScale = 0.5 : f32} : (tensor<1x3x8x8xf32>, tensor<5x5xf32>) -> tensor<5x3x2x2xf32>
  return
}

// -----

func.func @reduction(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf32>) {
  // expected-error @below {{reduction 'mean' is none of none, add, mul, max, min}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 1, reduction = "mean"} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @strings(%x: tensor<2x!handle.string>, %i: tensor<1xi64>, %u: tensor<1x!handle.string>) {
  // expected-error @below {{a reduction does not support strings}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 0, reduction = "add"} : (tensor<2x!handle.string>, tensor<1xi64>, tensor<1x!handle.string>) -> tensor<2x!handle.string>
  return
}

// -----

func.func @indices(%x: tensor<2x3xf32>, %i: tensor<2x2xi16>, %u: tensor<2x2xf32>) {
  // expected-error @below {{indices must be 32- or 64-bit integers}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi16>, tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @types(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf16>) {
  // expected-error @below {{operand and updates differ in element type}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x2xf32>) {
  // expected-error @below {{operand, indices and updates must have equal ranks, and the axis must be valid}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 2} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @unlike(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x1xf32>) {
  // expected-error @below {{indices and updates differ in dim 1}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 1} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @beyond(%x: tensor<2x3xf32>, %i: tensor<4x2xi64>, %u: tensor<4x2xf32>) {
  // expected-error @below {{indices are larger than the operand in dim 0}}
  %0 = graph.scatter_elements %x, %i, %u {axis = 1} : (tensor<2x3xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @position(%x: tensor<2x3xf32>, %i: tensor<4x3xi64>, %u: tensor<4xf32>) {
  // expected-error @below {{the last dim of the indices must index the operand, with one slice of updates for each index}}
  %0 = graph.scatter_nd %x, %i, %u : (tensor<2x3xf32>, tensor<4x3xi64>, tensor<4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slices(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>, %u: tensor<4x2xf32>) {
  // expected-error @below {{updates have a shape mismatch in dim 1}}
  %0 = graph.scatter_nd %x, %i, %u : (tensor<2x3xf32>, tensor<4x1xi64>, tensor<4x2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @batch(%x: tensor<2x8x4xf16>, %u: tensor<2x1x4xf16>, %s: tensor<2xi64>) {
  // expected-error @below {{cache and update must have equal ranks, starts rank 1, and the axis must not be the batch dim}}
  %0 = graph.tensor_scatter %x, %u, %s {axis = 0, circular = true} : (tensor<2x8x4xf16>, tensor<2x1x4xf16>, tensor<2xi64>) -> tensor<2x8x4xf16>
  return
}

// -----

func.func @batches(%x: tensor<1x3x8x8xf32>, %b: tensor<5x4xf32>, %i: tensor<5xi32>) {
  // expected-error @below {{batch indices must be 64-bit integers of rank 1}}
  %0 = graph.roi_align %x, %b, %i {size = array<i64: 2, 2>, halfPixel = true, takesMax = false, samplingRatio = 0, spatialScale = 0.5 : f32} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<5xi32>) -> tensor<5x3x2x2xf32>
  return
}

// -----

func.func @columns(%x: tensor<1x3x8x8xf32>, %b: tensor<5x4xf32>) {
  // expected-error @below {{needs an operand of rank 4, boxes of 5 numbers and a size of two}}
  %0 = graph.max_roi_pool %x, %b {size = array<i64: 2, 2>, spatialScale = 0.5 : f32} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>) -> tensor<5x3x2x2xf32>
  return
}
