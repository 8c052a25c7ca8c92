// RUN: hewn-opt %s --split-input-file --hewn-sink-reshapes | FileCheck %s

// The bias and the activation are done in the product's shape; another full operand takes it too.
// CHECK-LABEL: func.func @activation
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: %[[B:.*]] = graph.add %[[P]], %{{.*}} -> tensor<4x8xf32>
// CHECK: %[[R:.*]] = graph.relu %[[B]] : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[O:.*]] = graph.reshape %{{.*}} : (tensor<1x4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[S:.*]] = graph.add %[[R]], %[[O]] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[Y:.*]] = graph.reshape %[[S]] {{.*}} -> tensor<1x4x8xf32>
// CHECK: return %[[Y]]
func.func @activation(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %bias: tensor<8xf32>, %o: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 {shape = [1, 4, 8]} : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
  %2 = graph.add %1, %bias : (tensor<1x4x8xf32>, tensor<8xf32>) -> tensor<1x4x8xf32>
  %3 = graph.relu %2 : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %4 = graph.add %3, %o : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %4 : tensor<1x4x8xf32>
}

// -----

// Left alone: the reshape takes the last dim apart, along which the other operand runs.
// CHECK-LABEL: func.func @apart
// CHECK: %[[R:.*]] = graph.reshape
// CHECK: %[[Y:.*]] = graph.add %[[R]]
// CHECK: return %[[Y]]
func.func @apart(%x: tensor<4x3xf32>, %w: tensor<3x8xf32>, %bias: tensor<4xf32>) -> tensor<4x2x4xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  %1 = graph.reshape %0 {shape = [4, 2, 4]} : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %2 = graph.add %1, %bias : (tensor<4x2x4xf32>, tensor<4xf32>) -> tensor<4x2x4xf32>
  return %2 : tensor<4x2x4xf32>
}

// -----

// Left alone: no contraction.
// CHECK-LABEL: func.func @plain
// CHECK: %[[R:.*]] = graph.reshape
// CHECK: %[[Y:.*]] = graph.relu %[[R]]
// CHECK: return %[[Y]]
func.func @plain(%x: tensor<4x8xf32>) -> tensor<1x4x8xf32> {
  %0 = graph.reshape %x {shape = [1, 4, 8]} : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
  %1 = graph.relu %0 : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %1 : tensor<1x4x8xf32>
}

// -----

// Of contractions that take turns the bias and the activation are done for each.
// CHECK-LABEL: func.func @turns
// CHECK: %[[A:.*]] = graph.conv
// CHECK: %[[B:.*]] = graph.conv
// CHECK: %[[C:.*]] = graph.add %[[A]], %arg{{.*}} -> tensor<1x8x4xf32>
// CHECK: %[[D:.*]] = graph.add %[[B]], %arg{{.*}} -> tensor<1x8x3xf32>
// CHECK: %[[E:.*]] = graph.relu %[[C]]
// CHECK: %[[F:.*]] = graph.relu %[[D]]
// CHECK: %[[Y:.*]] = graph.interleave %[[E]], %[[F]] {{.*}} -> tensor<1x8x7xf32>
// CHECK: return %[[Y]]
func.func @turns(%x: tensor<1x4x4xf32>, %v: tensor<8x4x1xf32>, %w: tensor<8x4x2xf32>, %bias: tensor<8x1xf32>) -> tensor<1x8x7xf32> {
  %0 = graph.conv %x, %v {dilations = array<i64: 1>, groups = 1 : i64, strides = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<8x4x1xf32>) -> tensor<1x8x4xf32>
  %1 = graph.conv %x, %w {dilations = array<i64: 1>, groups = 1 : i64, strides = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<8x4x2xf32>) -> tensor<1x8x3xf32>
  %2 = graph.interleave %0, %1 {shape = [1, 8, 7], steps = array<i64: 1, 1, 2>} : (tensor<1x8x4xf32>, tensor<1x8x3xf32>) -> tensor<1x8x7xf32>
  %3 = graph.add %2, %bias : (tensor<1x8x7xf32>, tensor<8x1xf32>) -> tensor<1x8x7xf32>
  %4 = graph.relu %3 : (tensor<1x8x7xf32>) -> tensor<1x8x7xf32>
  return %4 : tensor<1x8x7xf32>
}

// -----

// Left alone: what is added is another for each turn.
// CHECK-LABEL: func.func @unlike_turns
// CHECK: %[[T:.*]] = graph.interleave
// CHECK: %[[Y:.*]] = graph.add %[[T]]
// CHECK: return %[[Y]]
func.func @unlike_turns(%x: tensor<1x4x4xf32>, %v: tensor<8x4x1xf32>, %o: tensor<7xf32>) -> tensor<1x8x7xf32> {
  %0 = graph.conv %x, %v {dilations = array<i64: 1>, groups = 1 : i64, strides = array<i64: 1>} : (tensor<1x4x4xf32>, tensor<8x4x1xf32>) -> tensor<1x8x4xf32>
  %2 = graph.interleave %0, %0 {shape = [1, 8, 7], steps = array<i64: 1, 1, 2>} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x7xf32>
  %3 = graph.add %2, %o : (tensor<1x8x7xf32>, tensor<7xf32>) -> tensor<1x8x7xf32>
  return %3 : tensor<1x8x7xf32>
}
