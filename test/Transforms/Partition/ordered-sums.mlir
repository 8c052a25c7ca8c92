// Ranks add gathered partials in the order of the ranks. The bits of the sum then do not depend on
// the communicator.
// RUN: hewn-opt %s --hewn-partition='tensor=4 ordered-sums rank=1' | FileCheck %s

// CHECK-LABEL: func.func @layers
// CHECK-NOT: all_reduce
// CHECK: %[[ALL:.*]] = graph.all_gather {{.*}} {first = 0 : i64, ranks = 4 : i64} : (tensor<8x64xf32>) -> tensor<4x8x64xf32>
// CHECK: %[[S0:.*]] = graph.slice %[[ALL]] {offsets = [0, 0, 0]
// CHECK: %[[A0:.*]] = graph.reshape %[[S0]]
// CHECK: %[[S1:.*]] = graph.slice %[[ALL]] {offsets = [1, 0, 0]
// CHECK: %[[A1:.*]] = graph.reshape %[[S1]]
// CHECK: %[[SUM1:.*]] = graph.add %[[A0]], %[[A1]]
// CHECK: %[[S2:.*]] = graph.slice %[[ALL]] {offsets = [2, 0, 0]
// CHECK: %[[A2:.*]] = graph.reshape %[[S2]]
// CHECK: %[[SUM2:.*]] = graph.add %[[SUM1]], %[[A2]]
// CHECK: %[[S3:.*]] = graph.slice %[[ALL]] {offsets = [3, 0, 0]
// CHECK: %[[A3:.*]] = graph.reshape %[[S3]]
// CHECK: %[[SUM3:.*]] = graph.add %[[SUM2]], %[[A3]]
// CHECK: return %[[SUM3]]
func.func @layers(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.relu %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = graph.matmul %1, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}
