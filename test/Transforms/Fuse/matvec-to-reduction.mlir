// A matrix-vector product becomes multiply and reduce if the matrix is contiguous along K.
// RUN: hewn-opt %s --hewn-matvec-to-reduction --split-input-file | FileCheck %s

// One row is multiplied by a transposed matrix. The rewritten op reads the stored matrix without
// the transpose.
// CHECK-LABEL: func.func @row(
// CHECK: %[[W:.*]] = graph.reshape %arg1 {shape = [1, 48, 64]}
// CHECK: %[[P:.*]] = graph.mul %{{.*}}, %[[W]] : (tensor<1x1x64xf32>, tensor<1x48x64xf32>)
// CHECK: %[[S:.*]] = graph.reduce_sum %[[P]] {dims = array<i64: 2>, keepdims = false}
// CHECK: return %[[S]] : tensor<1x48xf32>
func.func @row(%x: tensor<1x64xf32>, %w: tensor<48x64xf32>) -> tensor<1x48xf32> {
  %0 = graph.transpose %w {order = array<i64: 1, 0>} : (tensor<48x64xf32>) -> tensor<64x48xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x48xf32>) -> tensor<1x48xf32>
  return %1 : tensor<1x48xf32>
}

// A batch of matrices has one column each, and all of them share a vector.
// CHECK-LABEL: func.func @column(
// CHECK-NOT: graph.matmul
// CHECK: graph.mul {{.*}} (tensor<12x128x1x64xf32>, tensor<1x1x1x64xf32>)
// CHECK: graph.reduce_sum {{.*}} -> tensor<12x128x1xf32>
func.func @column(%x: tensor<12x128x64xf32>, %v: tensor<64x1xf32>) -> tensor<12x128x1xf32> {
  %0 = graph.matmul %x, %v : (tensor<12x128x64xf32>, tensor<64x1xf32>) -> tensor<12x128x1xf32>
  return %0 : tensor<12x128x1xf32>
}

// -----

// Not rewritten: this matrix is contiguous along the columns.
// CHECK-LABEL: func.func @apart(
// CHECK: graph.matmul
func.func @apart(%x: tensor<1x64xf32>, %w: tensor<64x48xf32>) -> tensor<1x48xf32> {
  %0 = graph.matmul %x, %w : (tensor<1x64xf32>, tensor<64x48xf32>) -> tensor<1x48xf32>
  return %0 : tensor<1x48xf32>
}

// Not rewritten: K is small.
// CHECK-LABEL: func.func @short(
// CHECK: graph.matmul
func.func @short(%x: tensor<128x8xf32>, %v: tensor<8x1xf32>) -> tensor<128x1xf32> {
  %0 = graph.matmul %x, %v : (tensor<128x8xf32>, tensor<8x1xf32>) -> tensor<128x1xf32>
  return %0 : tensor<128x1xf32>
}

// Not rewritten: a constant matrix is packed for the GEMM kernel.
// CHECK-LABEL: func.func @constant(
// CHECK: graph.matmul
func.func @constant(%v: tensor<64x1xf32>) -> tensor<2x1xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<2x64xf32>} : tensor<2x64xf32>
  %0 = graph.matmul %w, %v : (tensor<2x64xf32>, tensor<64x1xf32>) -> tensor<2x1xf32>
  return %0 : tensor<2x1xf32>
}

// The pass rewrites a matrix-vector product with a dynamic number of rows, but not one with a
// dynamic K.
// CHECK-LABEL: func.func @known_sum(
// CHECK: graph.reduce_sum
func.func @known_sum(%x: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}, %v: tensor<64x1xf32>) -> tensor<?x1xf32> {
  %0 = graph.matmul %x, %v {graph.dims = [[#graph.dim<"n">, 1]]} : (tensor<?x64xf32>, tensor<64x1xf32>) -> tensor<?x1xf32>
  return %0 : tensor<?x1xf32>
}

// CHECK-LABEL: func.func @open_sum(
// CHECK: graph.matmul
func.func @open_sum(%x: tensor<16x?xf32> {graph.dims = [16, #graph.dim<"k">]}, %v: tensor<?x1xf32> {graph.dims = [#graph.dim<"k">, 1]}) -> tensor<16x1xf32> {
  %0 = graph.matmul %x, %v : (tensor<16x?xf32>, tensor<?x1xf32>) -> tensor<16x1xf32>
  return %0 : tensor<16x1xf32>
}

// Not rewritten: integer matmuls use dot-product instructions.
// CHECK-LABEL: func.func @integers(
// CHECK: graph.matmul
func.func @integers(%x: tensor<128x64xi32>, %v: tensor<64x1xi32>) -> tensor<128x1xi32> {
  %0 = graph.matmul %x, %v : (tensor<128x64xi32>, tensor<64x1xi32>) -> tensor<128x1xi32>
  return %0 : tensor<128x1xi32>
}

// 8-bit integers that are multiplied by float32 are converted when they are read; constant ones are
// packed.
// CHECK-LABEL: func.func @bytes(
// CHECK: %[[Q:.*]] = graph.reshape %arg1 {{.*}}i8>
// CHECK: %[[F:.*]] = graph.cast %[[Q]] {to = f32}
// CHECK: %[[M:.*]] = graph.mul %{{.*}}, %[[F]]
// CHECK: graph.reduce_sum %[[M]]
// CHECK: graph.matmul
func.func @bytes(%x: tensor<1x64xf32>, %q: tensor<20x64xi8>) -> (tensor<1x20xf32>, tensor<1x20xf32>) {
  %t = graph.transpose %q {order = array<i64: 1, 0>} : (tensor<20x64xi8>) -> tensor<64x20xi8>
  %0 = graph.matmul %x, %t {to = f32} : (tensor<1x64xf32>, tensor<64x20xi8>) -> tensor<1x20xf32>
  %c = graph.constant {value = dense<1> : tensor<64x20xi8>} : tensor<64x20xi8>
  %1 = graph.matmul %x, %c {to = f32} : (tensor<1x64xf32>, tensor<64x20xi8>) -> tensor<1x20xf32>
  return %0, %1 : tensor<1x20xf32>, tensor<1x20xf32>
}
