// RUN: hewn-opt %s --split-input-file --hewn-partition='stages=2 micro-batches=2 rank=0' | FileCheck %s

// Tests indexing ops whose operand is a micro-batch.

// CHECK-LABEL: func.func @tile
// CHECK: graph.tile {{.*}}(tensor<4x3{{.*}} -> tensor<4x6xf32>
func.func @tile(%x: tensor<8x3xf32>) -> tensor<8x6xf32> {
  %0 = graph.tile %x {repeats = [1, 2]} : (tensor<8x3xf32>) -> tensor<8x6xf32>
  %1 = graph.tanh %0 : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %1 : tensor<8x6xf32>
}

// -----

// CHECK-LABEL: func.func @tile_of_one
// CHECK: graph.tile %arg0 {repeats = [4, 1]} : (tensor<1x3xf32>) -> tensor<4x3xf32>
func.func @tile_of_one(%x: tensor<1x3xf32>, %y: tensor<8x3xf32>) -> tensor<8x3xf32> {
  %0 = graph.tile %x {repeats = [8, 1]} : (tensor<1x3xf32>) -> tensor<8x3xf32>
  %1 = graph.add %0, %y : (tensor<8x3xf32>, tensor<8x3xf32>) -> tensor<8x3xf32>
  return %1 : tensor<8x3xf32>
}

// -----

// CHECK-LABEL: func.func @gather_elements
// CHECK: graph.gather_elements {{.*}}(tensor<4x3xf32>, tensor<4x5{{.*}} -> tensor<4x5xf32>
func.func @gather_elements(%x: tensor<8x3xf32>, %i: tensor<8x5xi64>) -> tensor<8x5xf32> {
  %0 = graph.gather_elements %x, %i {axis = 1 : i64} : (tensor<8x3xf32>, tensor<8x5xi64>) -> tensor<8x5xf32>
  %1 = graph.tanh %0 : (tensor<8x5xf32>) -> tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}

// -----

// CHECK-LABEL: func.func @gather_elements_along
// CHECK: graph.gather_elements {{.*}}(tensor<9x5xf32>, tensor<4x5{{.*}} -> tensor<4x5xf32>
func.func @gather_elements_along(%x: tensor<9x5xf32>, %i: tensor<8x5xi64>) -> tensor<8x5xf32> {
  %0 = graph.gather_elements %x, %i {axis = 0 : i64} : (tensor<9x5xf32>, tensor<8x5xi64>) -> tensor<8x5xf32>
  %1 = graph.tanh %0 : (tensor<8x5xf32>) -> tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}

// -----

// CHECK-LABEL: func.func @gather_nd
// CHECK: graph.gather_nd {{.*}}(tensor<4x6x3xf32>, tensor<4x5x1{{.*}} -> tensor<4x5x3xf32>
func.func @gather_nd(%x: tensor<8x6x3xf32>, %i: tensor<8x5x1xi64>) -> tensor<8x5x3xf32> {
  %0 = graph.gather_nd %x, %i {batchDims = 1 : i64} : (tensor<8x6x3xf32>, tensor<8x5x1xi64>) -> tensor<8x5x3xf32>
  %1 = graph.tanh %0 : (tensor<8x5x3xf32>) -> tensor<8x5x3xf32>
  return %1 : tensor<8x5x3xf32>
}

// -----

// CHECK-LABEL: func.func @gather_nd_of_all
// CHECK: graph.gather_nd {{.*}}(tensor<7x3xf32>, tensor<4x5x1{{.*}} -> tensor<4x5x3xf32>
func.func @gather_nd_of_all(%x: tensor<7x3xf32>, %i: tensor<8x5x1xi64>) -> tensor<8x5x3xf32> {
  %0 = graph.gather_nd %x, %i {batchDims = 0 : i64} : (tensor<7x3xf32>, tensor<8x5x1xi64>) -> tensor<8x5x3xf32>
  %1 = graph.tanh %0 : (tensor<8x5x3xf32>) -> tensor<8x5x3xf32>
  return %1 : tensor<8x5x3xf32>
}

// -----

// CHECK-LABEL: func.func @gather_nd_behind
// CHECK: graph.gather_nd {{.*}}(tensor<7x4xf32>, tensor<5x1{{.*}} -> tensor<5x4xf32>
func.func @gather_nd_behind(%x: tensor<7x8xf32>, %i: tensor<5x1xi64>) -> tensor<5x8xf32> {
  %0 = graph.gather_nd %x, %i {batchDims = 0 : i64} : (tensor<7x8xf32>, tensor<5x1xi64>) -> tensor<5x8xf32>
  %1 = graph.tanh %0 : (tensor<5x8xf32>) -> tensor<5x8xf32>
  return %1 : tensor<5x8xf32>
}

// -----

// CHECK-LABEL: func.func @one_hot
// CHECK: graph.one_hot {{.*}}(tensor<4xi64>, tensor<2{{.*}} -> tensor<4x7xf32>
func.func @one_hot(%i: tensor<8xi64>, %v: tensor<2xf32>) -> tensor<8x7xf32> {
  %0 = graph.one_hot %i, %v {axis = -1 : i64, depth = [7]} : (tensor<8xi64>, tensor<2xf32>) -> tensor<8x7xf32>
  %1 = graph.tanh %0 : (tensor<8x7xf32>) -> tensor<8x7xf32>
  return %1 : tensor<8x7xf32>
}

// -----

// CHECK-LABEL: func.func @trilu
// CHECK: graph.trilu {{.*}}(tensor<4x3x3{{.*}} -> tensor<4x3x3xf32>
func.func @trilu(%x: tensor<8x3x3xf32>) -> tensor<8x3x3xf32> {
  %0 = graph.trilu %x {k = [1], upper = true} : (tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  %1 = graph.tanh %0 : (tensor<8x3x3xf32>) -> tensor<8x3x3xf32>
  return %1 : tensor<8x3x3xf32>
}

// -----

// CHECK-LABEL: func.func @reverse_sequence
// CHECK: graph.reverse_sequence {{.*}}(tensor<5x4x3xf32>, tensor<4xi64{{.*}} -> tensor<5x4x3xf32>
func.func @reverse_sequence(%x: tensor<5x8x3xf32>, %l: tensor<8xi64>) -> tensor<5x8x3xf32> {
  %0 = graph.reverse_sequence %x, %l {batchAxis = 1 : i64, timeAxis = 0 : i64} : (tensor<5x8x3xf32>, tensor<8xi64>) -> tensor<5x8x3xf32>
  %1 = graph.tanh %0 : (tensor<5x8x3xf32>) -> tensor<5x8x3xf32>
  return %1 : tensor<5x8x3xf32>
}

// -----

// CHECK-LABEL: func.func @diagonal
// CHECK: graph.diagonal {{.*}}(tensor<4x3x3{{.*}} -> tensor<3x4xf32>
func.func @diagonal(%x: tensor<8x3x3xf32>) -> tensor<3x8xf32> {
  %0 = graph.diagonal %x {dims = array<i64: 1, 2>} : (tensor<8x3x3xf32>) -> tensor<3x8xf32>
  %1 = graph.tanh %0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func.func @dilate
// CHECK: graph.dilate {{.*}}(tensor<4x3{{.*}} -> tensor<4x5xf32>
func.func @dilate(%x: tensor<8x3xf32>) -> tensor<8x5xf32> {
  %0 = graph.dilate %x {factors = array<i64: 1, 2>} : (tensor<8x3xf32>) -> tensor<8x5xf32>
  %1 = graph.tanh %0 : (tensor<8x5xf32>) -> tensor<8x5xf32>
  return %1 : tensor<8x5xf32>
}

// -----

// CHECK-LABEL: func.func @tensor_scatter
// CHECK: graph.tensor_scatter {{.*}}(tensor<4x9x5xf32>, tensor<4x1x5xf32>, tensor<4xi64{{.*}} -> tensor<4x9x5xf32>
func.func @tensor_scatter(%x: tensor<8x9x5xf32>, %u: tensor<8x1x5xf32>, %s: tensor<8xi64>) -> tensor<8x9x5xf32> {
  %0 = graph.tensor_scatter %x, %u, %s {axis = 1 : i64, circular = true} : (tensor<8x9x5xf32>, tensor<8x1x5xf32>, tensor<8xi64>) -> tensor<8x9x5xf32>
  %1 = graph.tanh %0 : (tensor<8x9x5xf32>) -> tensor<8x9x5xf32>
  return %1 : tensor<8x9x5xf32>
}

// -----

// CHECK-LABEL: func.func @grid_sample
// CHECK: graph.grid_sample {{.*}}(tensor<4x3x7x7xf32>, tensor<4x5x5x2{{.*}} -> tensor<4x3x5x5xf32>
func.func @grid_sample(%x: tensor<8x3x7x7xf32>, %g: tensor<8x5x5x2xf32>) -> tensor<8x3x5x5xf32> {
  %0 = graph.grid_sample %x, %g {alignCorners = false, mode = "linear", padding = "border"} : (tensor<8x3x7x7xf32>, tensor<8x5x5x2xf32>) -> tensor<8x3x5x5xf32>
  %1 = graph.tanh %0 : (tensor<8x3x5x5xf32>) -> tensor<8x3x5x5xf32>
  return %1 : tensor<8x3x5x5xf32>
}

// -----

// CHECK-LABEL: func.func @grid_sample_channels
// CHECK: graph.grid_sample {{.*}}(tensor<1x4x7x7xf32>, tensor<1x5x5x2{{.*}} -> tensor<1x4x5x5xf32>
func.func @grid_sample_channels(%x: tensor<1x8x7x7xf32>, %g: tensor<1x5x5x2xf32>) -> tensor<1x8x5x5xf32> {
  %0 = graph.grid_sample %x, %g {alignCorners = false, mode = "linear", padding = "border"} : (tensor<1x8x7x7xf32>, tensor<1x5x5x2xf32>) -> tensor<1x8x5x5xf32>
  %1 = graph.tanh %0 : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %1 : tensor<1x8x5x5xf32>
}
