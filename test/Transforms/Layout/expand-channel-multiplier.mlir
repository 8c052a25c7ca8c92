// Tests which grouped contractions with one channel and several columns per group get a copy of the
// channel for each column.
// RUN: hewn-opt %s --hewn-expand-channel-multiplier | FileCheck %s

// The pass expands the channels before the padding, because the convolution folds the padding.
// CHECK-LABEL: func.func @two_columns
// CHECK-SAME: %[[X:.*]]: tensor<1x64x28x28xf32>, %[[W:.*]]: tensor<128x1x3x3xf32>)
// CHECK: %[[A:.*]] = graph.reshape %[[X]] {{.*}} -> tensor<1x64x1x28x28xf32>
// CHECK: %[[B:.*]] = graph.expand %[[A]] {{.*}} -> tensor<1x64x2x28x28xf32>
// CHECK: %[[C:.*]] = graph.reshape %[[B]] {{.*}} -> tensor<1x128x28x28xf32>
// CHECK: %[[P:.*]] = graph.pad %[[C]] {{.*}} -> tensor<1x128x30x30xf32>
// CHECK: graph.conv %[[P]], %[[W]] {{.*}}groups = 128 {{.*}} -> tensor<1x128x28x28xf32>
// Not expanded: one column per group, several channels per group, as many columns as lanes, dynamic
// sizes, integers.
// CHECK-LABEL: func.func @one_column
// CHECK-NOT: graph.expand
// CHECK-LABEL: func.func @channels
// CHECK-NOT: graph.expand
// CHECK-LABEL: func.func @many_columns
// CHECK-NOT: graph.expand
// CHECK-LABEL: func.func @sizes
// CHECK-NOT: graph.expand
// CHECK-LABEL: func.func @integers
// CHECK-NOT: graph.expand
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @two_columns(%x: tensor<1x64x28x28xf32>, %w: tensor<128x1x3x3xf32>) -> tensor<1x128x28x28xf32> {
    %0 = graph.pad %x {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x64x28x28xf32>) -> tensor<1x64x30x30xf32>
    %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 64 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x30x30xf32>, tensor<128x1x3x3xf32>) -> tensor<1x128x28x28xf32>
    return %1 : tensor<1x128x28x28xf32>
  }
  func.func @one_column(%x: tensor<1x64x30x30xf32>, %w: tensor<64x1x3x3xf32>) -> tensor<1x64x28x28xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 64 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x30x30xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x28x28xf32>
    return %0 : tensor<1x64x28x28xf32>
  }
  func.func @channels(%x: tensor<1x64x30x30xf32>, %w: tensor<128x2x3x3xf32>) -> tensor<1x128x28x28xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 32 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x30x30xf32>, tensor<128x2x3x3xf32>) -> tensor<1x128x28x28xf32>
    return %0 : tensor<1x128x28x28xf32>
  }
  func.func @many_columns(%x: tensor<1x4x30x30xf32>, %w: tensor<64x1x3x3xf32>) -> tensor<1x64x28x28xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 4 : i64, strides = array<i64: 1, 1>} : (tensor<1x4x30x30xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x28x28xf32>
    return %0 : tensor<1x64x28x28xf32>
  }
  func.func @sizes(%x: tensor<1x64x?x30xf32> {graph.dims = [1, 64, #graph.dim<"h + 2">, 30]}, %w: tensor<128x1x3x3xf32>) -> tensor<1x128x?x28xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 64 : i64, strides = array<i64: 1, 1>, graph.dims = [[1, 128, #graph.dim<"h">, 28]]} : (tensor<1x64x?x30xf32>, tensor<128x1x3x3xf32>) -> tensor<1x128x?x28xf32>
    return %0 : tensor<1x128x?x28xf32>
  }
  func.func @integers(%x: tensor<1x64x30x30xi32>, %w: tensor<128x1x3x3xi32>) -> tensor<1x128x28x28xi32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 64 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x30x30xi32>, tensor<128x1x3x3xi32>) -> tensor<1x128x28x28xi32>
    return %0 : tensor<1x128x28x28xi32>
  }
}
