// Each Split separates one row, which is multiplied, from the remaining rows, which the next Split
// reads. The pass erases the slices together with the matmuls that used them, so that no op is left
// without a kernel.
// RUN: hewn-opt %s --hewn-merge-gemvs | FileCheck %s

// CHECK-LABEL: func.func @rest(
// CHECK-SAME: tensor<3x16xf32>
// CHECK-NOT: graph.slice
// CHECK: graph.matmul
// CHECK-NOT: graph.matmul
// CHECK-COUNT-3: graph.slice
// CHECK-NOT: graph.slice
// CHECK: return
func.func @rest(%x: tensor<3x16xf32>, %w: tensor<16x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) {
  %a = graph.slice %x {offsets = [0, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<3x16xf32>) -> tensor<1x16xf32>
  %p = graph.matmul %a, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %r = graph.slice %x {offsets = [1, 0], sizes = [2, 16], steps = array<i64: 1, 1>} : (tensor<3x16xf32>) -> tensor<2x16xf32>
  %b = graph.slice %r {offsets = [0, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<1x16xf32>
  %q = graph.matmul %b, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  %s = graph.slice %r {offsets = [1, 0], sizes = [1, 16], steps = array<i64: 1, 1>} : (tensor<2x16xf32>) -> tensor<1x16xf32>
  %t = graph.matmul %s, %w : (tensor<1x16xf32>, tensor<16x8xf32>) -> tensor<1x8xf32>
  return %p, %q, %t : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>
}
