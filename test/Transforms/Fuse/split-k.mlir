// A kernel whose schedule has splits becomes two: partials in float32, and their sum with the
// epilogue.
// RUN: hewn-opt %s --hewn-split-k | FileCheck %s

// CHECK: plan.kernel @half_parts(%arg0: tensor<49x64xf16>, %arg1: tensor<64x96xf16>) -> tensor<4x49x96xf32>
// CHECK-SAME: schedule = #plan.gpu_tile<m = 32, n = 32, splits = 4>
// CHECK-NEXT: %[[X:.*]] = graph.relu %arg0
// CHECK-NEXT: %[[P:.*]] = graph.matmul %[[X]], %arg1 {to = f32} : {{.*}} -> tensor<49x96xf32>
// CHECK-NEXT: %[[S:.*]] = graph.spread %[[P]] {parts = 4 : i64}
// CHECK-NEXT: graph.yield %[[S]]
// CHECK: plan.kernel @half(%arg0: tensor<4x49x96xf32>, %arg1: tensor<96xf16>) -> tensor<49x96xf16> attributes {symbols = []
// CHECK-NEXT: %[[R:.*]] = graph.reduce_sum %arg0 {dims = array<i64: 0>, keepdims = false}
// CHECK-NEXT: %[[C:.*]] = graph.cast %[[R]] {to = f16}
// CHECK-NEXT: %[[A:.*]] = graph.add %[[C]], %arg1
// CHECK-NEXT: graph.yield %[[A]]
plan.kernel @half(%x: tensor<49x64xf16>, %w: tensor<64x96xf16>, %b: tensor<96xf16>) -> tensor<49x96xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32, splits = 4>} {
  %0 = graph.relu %x : (tensor<49x64xf16>) -> tensor<49x64xf16>
  %1 = graph.matmul %0, %w : (tensor<49x64xf16>, tensor<64x96xf16>) -> tensor<49x96xf16>
  %2 = graph.add %1, %b : (tensor<49x96xf16>, tensor<96xf16>) -> tensor<49x96xf16>
  graph.yield %2 : tensor<49x96xf16>
}

// Each split-K partial has the memory layout of the GEMM's result.
// CHECK: plan.kernel @layout_parts
// CHECK: graph.spread {{.*}} -> tensor<2x1x8x4x4xf32, #graph.layout<[0, 1, 3, 4, 2]>>
// CHECK: plan.kernel @layout(
// CHECK: graph.reduce_sum {{.*}} -> tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>
plan.kernel @layout(%x: tensor<1x8x6x6xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<8x8x3x3xf32>) -> tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32, splits = 2>} {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x8x6x6xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<8x8x3x3xf32>) -> tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>
  graph.yield %0 : tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>
}

// A kernel that also has a reduction is not split.
// CHECK: plan.kernel @reduced(
// CHECK-NOT: graph.spread
// CHECK: graph.yield
plan.kernel @reduced(%x: tensor<49x64xf32>, %w: tensor<64x96xf32>) -> tensor<49xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32, splits = 4>} {
  %0 = graph.matmul %x, %w : (tensor<49x64xf32>, tensor<64x96xf32>) -> tensor<49x96xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1>, keepdims = false} : (tensor<49x96xf32>) -> tensor<49xf32>
  graph.yield %1 : tensor<49xf32>
}

// CHECK: func.func @main
// CHECK: %[[Q:.*]] = plan.launch @half_parts(%arg0, %arg1)
// CHECK: plan.launch @half(%[[Q]], %arg2)
func.func @main(%x: tensor<49x64xf16>, %w: tensor<64x96xf16>, %b: tensor<96xf16>) -> tensor<49x96xf16> {
  %0 = plan.launch @half(%x, %w, %b) symbols [] : (tensor<49x64xf16>, tensor<64x96xf16>, tensor<96xf16>) -> tensor<49x96xf16>
  return %0 : tensor<49x96xf16>
}

// The partials of an integer GEMM are integers, not float32.
// CHECK: plan.kernel @integers_parts
// CHECK: graph.matmul {{.*}} {to = i32} : (tensor<49x64xui8>, tensor<64x96xi8>) -> tensor<49x96xi32>
// CHECK: graph.spread {{.*}} -> tensor<4x49x96xi32>
// CHECK: plan.kernel @integers(
// CHECK: graph.reduce_sum {{.*}} -> tensor<49x96xi32>
// CHECK-NEXT: graph.yield
plan.kernel @integers(%x: tensor<49x64xui8>, %w: tensor<64x96xi8>) -> tensor<49x96xi32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32, splits = 4>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<49x64xui8>, tensor<64x96xi8>) -> tensor<49x96xi32>
  graph.yield %0 : tensor<49x96xi32>
}
