// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-decompose-ops | FileCheck %s --check-prefix=COMPOSED

// CHECK-LABEL: @softmax
// COMPOSED-LABEL: @softmax
func.func @softmax(%x: tensor<2x4xf16>) -> tensor<2x4xf16> {
  // CHECK: graph.softmax %{{.*}} {axis = 1 : i64} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  // COMPOSED: %[[X:.*]] = graph.cast %{{.*}} {to = f32}
  // COMPOSED: %[[MAX:.*]] = graph.reduce_max %[[X]] {dims = array<i64: 1>, nnan} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  // COMPOSED: %[[SHIFTED:.*]] = graph.sub %[[X]], %[[MAX]]
  // COMPOSED: %[[EXP:.*]] = graph.exp %[[SHIFTED]]
  // COMPOSED: %[[SUM:.*]] = graph.reduce_sum %[[EXP]]
  // COMPOSED: %[[INV:.*]] = graph.reciprocal %[[SUM]]
  // COMPOSED: %[[DIV:.*]] = graph.mul %[[EXP]], %[[INV]]
  // COMPOSED: graph.cast %[[DIV]] {to = f16}
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// -----

// CHECK-LABEL: @layer_norm
// COMPOSED-LABEL: @layer_norm
func.func @layer_norm(%x: tensor<2x3x4xf32>, %scale: tensor<4xf32>) -> tensor<2x3x4xf32> {
  // CHECK: graph.layer_norm %{{.*}}, %{{.*}} {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // COMPOSED-NOT: graph.layer_norm
  // COMPOSED-COUNT-2: graph.reduce_mean
  %0 = graph.layer_norm %x, %scale {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// Only two of the ops that a normalization is decomposed into read the data. The operands of the
// others may be constant.
// COMPOSED-LABEL: @batch_norm
// COMPOSED-SAME: %[[X:[^:]*]]: tensor<1x3x?x?xf32>
func.func @batch_norm(%x: tensor<1x3x?x?xf32> {graph.dims = [1, 3, #graph.dim<"h">, #graph.dim<"w">]}, %c: tensor<3xf32>) -> tensor<1x3x?x?xf32> {
  // COMPOSED: %[[FACTOR:.*]] = graph.reshape %{{.*}} {shape = [3, 1, 1]}
  // COMPOSED: %[[SCALED:.*]] = graph.mul %[[X]], %[[FACTOR]]
  // COMPOSED: graph.add %[[SCALED]], %{{.*}} {graph.dims = {{\[\[}}1, 3, #graph.dim<"h">, #graph.dim<"w">{{\]\]}}}
  %0 = graph.batch_norm %x, %c, %c, %c, %c {graph.dims = [[1, 3, #graph.dim<"h">, #graph.dim<"w">]]}
      : (tensor<1x3x?x?xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3x?x?xf32>
  return %0 : tensor<1x3x?x?xf32>
}

// -----

// COMPOSED-LABEL: @group_norm
func.func @group_norm(%x: tensor<2x6x5xf32>, %c: tensor<6xf32>) -> tensor<2x6x5xf32> {
  // COMPOSED: graph.reshape %{{.*}} {shape = [2, 3, 2, 5]}
  // COMPOSED: graph.reduce_mean %{{.*}} {dims = array<i64: 2, 3>}
  %0 = graph.group_norm %x, %c, %c {groups = 3 : i64} : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
  return %0 : tensor<2x6x5xf32>
}

// -----

// COMPOSED-LABEL: @lrn
func.func @lrn(%x: tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32> {
  // COMPOSED: graph.window %{{.*}} {{.*}}kernel = array<i64: 3, 1, 1>, low = array<i64: 1, 0, 0>
  %0 = graph.lrn %x {size = 3 : i64} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return %0 : tensor<1x8x5x5xf32>
}

// -----

func.func @axis(%x: tensor<2x4xf32>) {
  // expected-error @below {{axis 2 is outside of rank 2}}
  %0 = graph.softmax %x {axis = 2 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @scale(%x: tensor<2x4xf32>, %scale: tensor<3xf32>) {
  // expected-error @below {{scale or bias does not broadcast to the operand}}
  %0 = graph.rms_norm %x, %scale {axis = 1 : i64} : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @groups(%x: tensor<2x6x5xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{6 channels are not divisible by 4 groups}}
  %0 = graph.group_norm %x, %c, %c {groups = 4 : i64} : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

func.func @channels(%x: tensor<2x6x5xf32>, %c: tensor<5xf32>) {
  // expected-error @below {{needs one value for each of 6 channels}}
  %0 = graph.batch_norm %x, %c, %c, %c, %c : (tensor<2x6x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x6x5xf32>
  return
}

// -----

// CHECK-LABEL: func.func @log_softmax
func.func @log_softmax(%x: tensor<2x4xf16>) {
  // CHECK: graph.log_softmax %{{.*}} {axis = 1 : i64} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  %0 = graph.log_softmax %x {axis = 1 : i64} : (tensor<2x4xf16>) -> tensor<2x4xf16>
  return
}

// -----

func.func @channels_of_nothing(%x: tensor<f32>, %c: tensor<5xf32>) {
  // expected-error @below {{needs an operand of rank 1 or more}}
  %0 = graph.batch_norm %x, %c, %c, %c, %c : (tensor<f32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<f32>
  return
}

// -----

func.func @group_rank(%x: tensor<6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{needs an operand of rank 2 or more}}
  %0 = graph.group_norm %x, %c, %c {groups = 2 : i64} : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @lrn_size(%x: tensor<1x8x5x5xf32>) {
  // expected-error @below {{requires a positive size and a channel dim}}
  %0 = graph.lrn %x {size = 0 : i64} : (tensor<1x8x5x5xf32>) -> tensor<1x8x5x5xf32>
  return
}

// -----

func.func @normalized_integers(%x: tensor<2x4xi32>) {
  // expected-error @below {{takes floats, not 'i32'}}
  %0 = graph.softmax %x {axis = 1 : i64} : (tensor<2x4xi32>) -> tensor<2x4xi32>
  return
}
