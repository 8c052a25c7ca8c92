// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=2 rank=1' | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=2 rank=1' --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-COUNT-1: Reason="rows not sharded: one more message costs as much as computing the following ops for all rows on every rank"
// REMARK-NOT: Reason="a message more

// Row-wise ops after a reduce-scatter run on a rank's own rows; the result is gathered for users of
// the full tensor.
// CHECK-LABEL: func.func @norm
// CHECK: graph.relu
// CHECK: %[[P:.*]] = graph.matmul
// CHECK: graph.reshape %[[P]] {shape = [1, 1, 2, 256, 64]}
// CHECK: %[[S:.*]] = graph.reduce_scatter {{.*}} {first = 0 : i64, ranks = 2 : i64} : (tensor<2x1x256x64xf32>) -> tensor<1x256x64xf32>
// CHECK: %[[X:.*]] = graph.slice %arg0 {offsets = [0, 256, 0], sizes = [1, 256, 64]
// CHECK: %[[R:.*]] = graph.add %[[S]], %[[X]]
// CHECK: %[[M:.*]] = graph.reduce_sum %[[R]]
// CHECK: %[[N:.*]] = graph.sub %[[R]], %[[M]]
// CHECK: graph.all_gather %[[N]]
// CHECK: %[[Y:.*]] = graph.reshape {{.*}} -> tensor<1x512x64xf32>
// CHECK: return %[[Y]]
func.func @norm(%x: tensor<1x512x64xf32>) -> tensor<1x512x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<1x512x64xf32>, tensor<64x64xf32>) -> tensor<1x512x64xf32>
  %1 = graph.relu %0 : (tensor<1x512x64xf32>) -> tensor<1x512x64xf32>
  %2 = graph.matmul %1, %v : (tensor<1x512x64xf32>, tensor<64x64xf32>) -> tensor<1x512x64xf32>
  %3 = graph.add %2, %x : (tensor<1x512x64xf32>, tensor<1x512x64xf32>) -> tensor<1x512x64xf32>
  %4 = graph.reduce_sum %3 {dims = array<i64: 2>, keep = true} : (tensor<1x512x64xf32>) -> tensor<1x512x1xf32>
  %5 = graph.sub %3, %4 : (tensor<1x512x64xf32>, tensor<1x512x1xf32>) -> tensor<1x512x64xf32>
  return %5 : tensor<1x512x64xf32>
}

// -----

// Residuals stay sharded from layer to layer: two reduce-scatters, and a gather for each user of
// the full tensor.
// CHECK-LABEL: func.func @residual
// CHECK: graph.reduce_scatter
// CHECK: graph.slice %arg0
// CHECK: %[[A:.*]] = graph.add
// CHECK: graph.all_gather
// CHECK: graph.reduce_scatter
// CHECK: %[[B:.*]] = graph.add %{{.*}}, %[[A]]
// CHECK: graph.all_gather
// CHECK-NOT: graph.all_gather
// CHECK: return
func.func @residual(%x: tensor<512x64xf32>) -> tensor<512x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %t = graph.constant {value = #graph.weight<"t", 0 : 16384>} : tensor<64x64xf32>
  %u = graph.constant {value = #graph.weight<"u", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %1 = graph.matmul %0, %v : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %2 = graph.add %1, %x : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  %3 = graph.relu %2 : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %4 = graph.matmul %3, %t : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %5 = graph.matmul %4, %u : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %6 = graph.add %5, %2 : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x64xf32>
  return %6 : tensor<512x64xf32>
}

// -----

// With a small number of rows, an all-reduce is cheaper, because it needs one message less.
// CHECK-LABEL: func.func @few
// CHECK: graph.all_reduce
// CHECK-NOT: graph.all_gather
// CHECK: return
func.func @few(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %2 = graph.add %1, %x : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----

// No row-wise ops follow the sum, so the pass inserts an all-reduce.
// CHECK-LABEL: func.func @transposed
// CHECK: graph.all_reduce
// CHECK-NOT: graph.all_gather
// CHECK: return
func.func @transposed(%x: tensor<512x64xf32>) -> tensor<64x512xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %1 = graph.matmul %0, %v : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %2 = graph.transpose %1 {order = array<i64: 1, 0>} : (tensor<512x64xf32>) -> tensor<64x512xf32>
  return %2 : tensor<64x512xf32>
}

// -----

// No reduce-scatter: the number of ranks does not divide the number of rows.
// CHECK-LABEL: func.func @odd
// CHECK: graph.all_reduce
// CHECK: return
func.func @odd(%x: tensor<511x64xf32>) -> tensor<511x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<511x64xf32>, tensor<64x64xf32>) -> tensor<511x64xf32>
  %1 = graph.matmul %0, %v : (tensor<511x64xf32>, tensor<64x64xf32>) -> tensor<511x64xf32>
  %2 = graph.add %1, %x : (tensor<511x64xf32>, tensor<511x64xf32>) -> tensor<511x64xf32>
  return %2 : tensor<511x64xf32>
}
