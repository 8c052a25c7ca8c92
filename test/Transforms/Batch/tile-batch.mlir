// RUN: hewn-opt %s --split-input-file --hewn-tile-batch | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-tile-batch --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="batch not tiled: processing one batch element at a time saves less cache traffic than the loop costs"

// The intermediate values of eight images exceed the caches, and those of one image fit. The pass
// forms a loop over the images, in which values lose their first dim. The op that combines images
// comes after the loop.
// CHECK-LABEL: func.func @images(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<8x4x64x64xf32>, %[[W:[a-z0-9]*]]: tensor<32x4x1x1xf32>
// CHECK: %[[LOOP:.*]] = graph.scan %[[X]]
// CHECK: ^bb0(%[[SLICE:.*]]: tensor<4x64x64xf32>):
// CHECK: %[[ITEM:.*]] = graph.reshape %[[SLICE]] {shape = [1, 4, 64, 64]}
// CHECK: %[[C:.*]] = graph.conv %[[ITEM]], %[[W]] {{.*}} -> tensor<1x32x64x64xf32>
// CHECK: %[[R:.*]] = graph.relu %[[C]]
// CHECK: graph.conv %[[R]]
// CHECK: %[[M:.*]] = graph.reduce_mean {{.*}} -> tensor<1x32xf32>
// CHECK: %[[OUT:.*]] = graph.reshape %[[M]] {shape = [32]}
// CHECK: graph.yield %[[OUT]]
// CHECK: -> tensor<8x32xf32>
// CHECK: %[[T:.*]] = graph.transpose %[[LOOP]]
// CHECK: return %[[T]]
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 4194304>} {
func.func @images(%x: tensor<8x4x64x64xf32>, %w: tensor<32x4x1x1xf32>, %v: tensor<32x32x1x1xf32>) -> tensor<32x8xf32> {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<8x4x64x64xf32>, tensor<32x4x1x1xf32>) -> tensor<8x32x64x64xf32>
  %1 = graph.relu %0 : (tensor<8x32x64x64xf32>) -> tensor<8x32x64x64xf32>
  %2 = graph.conv %1, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<8x32x64x64xf32>, tensor<32x32x1x1xf32>) -> tensor<8x32x64x64xf32>
  %3 = graph.reduce_mean %2 {dims = array<i64: 2, 3>, keepdims = false} : (tensor<8x32x64x64xf32>) -> tensor<8x32xf32>
  %4 = graph.transpose %3 {order = array<i64: 1, 0>} : (tensor<8x32xf32>) -> tensor<32x8xf32>
  return %4 : tensor<32x8xf32>
}
}

// -----

// No loop is formed: the values of all images fit the caches.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: graph.scan
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 4194304>} {
func.func @small(%x: tensor<8x4x8x8xf32>, %w: tensor<32x4x1x1xf32>) -> tensor<8x32x8x8xf32> {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<8x4x8x8xf32>, tensor<32x4x1x1xf32>) -> tensor<8x32x8x8xf32>
  return %0 : tensor<8x32x8x8xf32>
}
}

// -----

// No loop is formed: each iteration would read the weights again, which are larger than the
// intermediate values of a batch element.
// CHECK-LABEL: func.func @heavy(
// CHECK-NOT: graph.scan
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 4194304>} {
func.func @heavy(%x: tensor<8x64x1024xf32>, %w: tensor<1024x4096xf32>) -> tensor<8x64x4096xf32> {
  %0 = graph.matmul %x, %w : (tensor<8x64x1024xf32>, tensor<1024x4096xf32>) -> tensor<8x64x4096xf32>
  return %0 : tensor<8x64x4096xf32>
}
}

// -----

// No loop is formed: the softmax is along the batch dim, so that batch elements depend on each
// other.
// CHECK-LABEL: func.func @along(
// CHECK-NOT: graph.scan
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 4194304>} {
func.func @along(%x: tensor<8x1048576xf32>) -> tensor<8x1048576xf32> {
  %0 = graph.reduce_sum %x {dims = array<i64: 0>, keepdims = true} : (tensor<8x1048576xf32>) -> tensor<1x1048576xf32>
  %1 = graph.div %x, %0 : (tensor<8x1048576xf32>, tensor<1x1048576xf32>) -> tensor<8x1048576xf32>
  return %1 : tensor<8x1048576xf32>
}
}

// -----

// A constant identity matrix does not count for the decision to form a loop: kernels compute its
// elements from their indices, so that it occupies no memory.
// CHECK-LABEL: func.func @indices(
// CHECK-NOT: graph.scan
// CHECK: graph.pow
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
func.func @indices(%x: tensor<8x34xi64>) -> tensor<8x34xi64> {
  %0 = graph.eye {elementType = i64, k = 0 : i64, shape = [8, 17]} : () -> tensor<8x17xi64>
  %1 = graph.concat %0, %0 {axis = 1 : i64} : (tensor<8x17xi64>, tensor<8x17xi64>) -> tensor<8x34xi64>
  %2 = graph.pow %1, %x : (tensor<8x34xi64>, tensor<8x34xi64>) -> tensor<8x34xi64>
  return %2 : tensor<8x34xi64>
}
}
