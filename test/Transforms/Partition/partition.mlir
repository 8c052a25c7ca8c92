// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=2 rank=1' | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=2 rank=1' --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="constants not sharded: none of their shardable dims is a multiple of the number of ranks"

// The pass shards the first constant by columns and the second by rows, and inserts one all-reduce.
// CHECK-LABEL: func.func @layers
// CHECK: %[[W:.*]] = graph.slice {{.*}} {offsets = [0, 32], sizes = [64, 32]
// CHECK: %[[H:.*]] = graph.matmul %arg0, %[[W]] : {{.*}} -> tensor<8x32xf32>
// CHECK: %[[R:.*]] = graph.relu %[[H]]
// CHECK: %[[V:.*]] = graph.slice {{.*}} {offsets = [32, 0], sizes = [32, 64]
// CHECK: %[[P:.*]] = graph.matmul %[[R]], %[[V]]
// CHECK: %[[Y:.*]] = graph.all_reduce %[[P]] {first = 0 : i64, ranks = 2 : i64}
// CHECK: return %[[Y]]
func.func @layers(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.relu %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = graph.matmul %1, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----

// Fused queries, keys and values: each rank has heads of each, so that the constant is sliced in
// three blocks.
// CHECK-LABEL: func.func @sidebyside
// CHECK: graph.reshape {{.*}} {shape = [64, 3, 2, 32]}
// CHECK: graph.matmul %arg0, {{.*}} -> tensor<8x96xf32>
// CHECK: graph.slice {{.*}} {offsets = [0, 0], sizes = [8, 32]
// CHECK: graph.slice {{.*}} {offsets = [0, 32], sizes = [8, 32]
// CHECK-NOT: all_gather
// CHECK: graph.all_reduce
func.func @sidebyside(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 49152>} : tensor<64x192xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x192xf32>) -> tensor<8x192xf32>
  %1 = graph.slice %0 {offsets = [0, 0], sizes = [8, 64], steps = array<i64: 1, 1>} : (tensor<8x192xf32>) -> tensor<8x64xf32>
  %2 = graph.slice %0 {offsets = [0, 64], sizes = [8, 64], steps = array<i64: 1, 1>} : (tensor<8x192xf32>) -> tensor<8x64xf32>
  %3 = graph.slice %0 {offsets = [0, 128], sizes = [8, 64], steps = array<i64: 1, 1>} : (tensor<8x192xf32>) -> tensor<8x64xf32>
  %4 = graph.mul %1, %2 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %5 = graph.mul %4, %3 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %6 = graph.matmul %5, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %6 : tensor<8x64xf32>
}

// -----

// A reduction over the sharded dim needs the full tensor: it is gathered once for all users.
// CHECK-LABEL: func.func @gathered
// CHECK: %[[P:.*]] = graph.matmul
// CHECK-COUNT-1: graph.all_gather %[[P]]
// CHECK-NOT: graph.all_gather
// CHECK: return
func.func @gathered(%x: tensor<8x64xf32>) -> (tensor<8x1xf32>, tensor<8x64xf32>) {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1>} : (tensor<8x64xf32>) -> tensor<8x1xf32>
  return %1, %0 : tensor<8x1xf32>, tensor<8x64xf32>
}

// -----

// Large constants with an odd dim are zero-padded, and the result is sliced.
// CHECK-LABEL: func.func @odd
// CHECK: %[[PADDED:.*]] = graph.pad {{.*}} -> tensor<512x1002xf32>
// CHECK: graph.matmul %arg0, {{.*}} -> tensor<1x501xf32>
// CHECK: graph.all_gather
// CHECK: graph.slice {{.*}} sizes = [1, 1001]
func.func @odd(%x: tensor<1x512xf32>) -> tensor<1x1001xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 2050048>} : tensor<512x1001xf32>
  %0 = graph.matmul %x, %w : (tensor<1x512xf32>, tensor<512x1001xf32>) -> tensor<1x1001xf32>
  return %0 : tensor<1x1001xf32>
}

// -----

// Not partitioned: no dim of the constants can be sharded.
// CHECK-LABEL: func.func @odd_all_over
// CHECK-NOT: all_
// CHECK: return
func.func @odd_all_over(%x: tensor<8x77xf32>) -> tensor<8x77xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 23716>} : tensor<77x77xf32>
  %0 = graph.matmul %x, %w : (tensor<8x77xf32>, tensor<77x77xf32>) -> tensor<8x77xf32>
  return %0 : tensor<8x77xf32>
}
