// RUN: hewn-opt %s --split-input-file --hewn-partition='tensor=2 rank=1' --cse | FileCheck %s

// A table that is used by a lookup and, transposed, by a matmul is sharded in one way for both:
// rank 1 has the rows from 300 on. For an index in rank 0's rows it adds 0.
// CHECK-LABEL: func.func @tied
// CHECK: %[[T:.*]] = graph.constant {value = #graph.weight<"t"
// CHECK-DAG: %[[ROWS:.*]] = graph.slice %[[T]] {offsets = [300, 0], sizes = [300, 64]
// CHECK-DAG: %[[FIRST:.*]] = graph.constant {value = dense<300>
// CHECK-DAG: %[[AT:.*]] = graph.sub {{.*}}, %[[FIRST]]
// CHECK: %[[FOUND:.*]] = graph.gather %[[ROWS]], %[[AT]] {axis = 0 : i64}
// CHECK: %[[OWN:.*]] = graph.where {{.*}}, %[[FOUND]]
// CHECK: %[[X:.*]] = graph.all_reduce %[[OWN]]
// CHECK: %[[COLUMNS:.*]] = graph.transpose %[[ROWS]] {order = array<i64: 1, 0>}
// CHECK: %[[Y:.*]] = graph.matmul {{.*}}, %[[COLUMNS]] : {{.*}} -> tensor<64x300xf32>
// CHECK: graph.all_gather %[[Y]]
func.func @tied(%ids: tensor<64xi64>) -> tensor<64x600xf32> {
  %t = graph.constant {value = #graph.weight<"t", 0 : 153600>} : tensor<600x64xf32>
  %x = graph.gather %t, %ids {axis = 0 : i64} : (tensor<600x64xf32>, tensor<64xi64>) -> tensor<64x64xf32>
  %s = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %r = graph.sub %x, %s : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %w = graph.transpose %t {order = array<i64: 1, 0>} : (tensor<600x64xf32>) -> tensor<64x600xf32>
  %y = graph.matmul %r, %w : (tensor<64x64xf32>, tensor<64x600xf32>) -> tensor<64x600xf32>
  return %y : tensor<64x600xf32>
}

// -----

// A table of 5001 rows is padded by one; negative indices still count from the end of the 5001
// rows.
// CHECK-LABEL: func.func @odd
// CHECK: %[[PADDED:.*]] = graph.pad {{.*}} -> tensor<5002x64xf32>
// CHECK-DAG: graph.slice %[[PADDED]] {offsets = [2501, 0], sizes = [2501, 64]
// CHECK-DAG: %[[SIZE:.*]] = graph.constant {value = dense<5001>
// CHECK-DAG: graph.add %arg0, %[[SIZE]]
// CHECK: graph.all_reduce
// CHECK: graph.all_gather
// CHECK: graph.slice {{.*}} sizes = [64, 5001]
func.func @odd(%ids: tensor<64xi64>) -> tensor<64x5001xf32> {
  %t = graph.constant {value = #graph.weight<"t", 0 : 1280256>} : tensor<5001x64xf32>
  %x = graph.gather %t, %ids {axis = 0 : i64} : (tensor<5001x64xf32>, tensor<64xi64>) -> tensor<64x64xf32>
  %s = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
  %r = graph.sub %x, %s : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %w = graph.transpose %t {order = array<i64: 1, 0>} : (tensor<5001x64xf32>) -> tensor<64x5001xf32>
  %y = graph.matmul %r, %w : (tensor<64x64xf32>, tensor<64x5001xf32>) -> tensor<64x5001xf32>
  return %y : tensor<64x5001xf32>
}

// -----

// Two matmuls use the table along its rows, one of them transposed: both use the padded table.
// CHECK-LABEL: func.func @both
// CHECK: %[[PADDED:.*]] = graph.pad {{.*}} -> tensor<5002x64xf32>
// CHECK-NOT: graph.pad
// CHECK: %[[ROWS:.*]] = graph.slice %[[PADDED]] {offsets = [2501, 0], sizes = [2501, 64]
// CHECK: graph.transpose %[[ROWS]]
// CHECK: return
func.func @both(%x: tensor<64x64xf32>) -> (tensor<64x5001xf32>, tensor<64x5001xf32>) {
  %t = graph.constant {value = #graph.weight<"t", 0 : 1280256>} : tensor<5001x64xf32>
  %w = graph.transpose %t {order = array<i64: 1, 0>} : (tensor<5001x64xf32>) -> tensor<64x5001xf32>
  %y = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x5001xf32>) -> tensor<64x5001xf32>
  %r = graph.relu %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %z = graph.matmul %r, %w : (tensor<64x64xf32>, tensor<64x5001xf32>) -> tensor<64x5001xf32>
  return %y, %z : tensor<64x5001xf32>, tensor<64x5001xf32>
}

// -----

// A user that can process a padded table and slice its own result uses the padded one: a lookup of
// columns.
// CHECK-LABEL: func.func @columns
// CHECK: graph.pad {{.*}} -> tensor<5002x64xf32>
// CHECK: %[[ROWS:.*]] = graph.slice {{.*}} {offsets = [2501, 0], sizes = [2501, 64]
// CHECK: graph.gather %[[ROWS]], {{.*}} {axis = 1 : i64}
// CHECK: graph.all_gather
// CHECK: graph.slice {{.*}} sizes = [5001, 4]
// CHECK: graph.transpose %[[ROWS]]
// CHECK: return
func.func @columns(%ids: tensor<4xi64>, %x: tensor<64x64xf32>) -> (tensor<5001x4xf32>, tensor<64x5001xf32>) {
  %t = graph.constant {value = #graph.weight<"t", 0 : 1280256>} : tensor<5001x64xf32>
  %c = graph.gather %t, %ids {axis = 1 : i64} : (tensor<5001x64xf32>, tensor<4xi64>) -> tensor<5001x4xf32>
  %w = graph.transpose %t {order = array<i64: 1, 0>} : (tensor<5001x64xf32>) -> tensor<64x5001xf32>
  %y = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x5001xf32>) -> tensor<64x5001xf32>
  return %c, %y : tensor<5001x4xf32>, tensor<64x5001xf32>
}

// -----

// An elementwise user does so as well.
// CHECK-LABEL: func.func @scaled
// CHECK: %[[ROWS:.*]] = graph.slice {{.*}} {offsets = [2501, 0], sizes = [2501, 64]
// CHECK: graph.mul %[[ROWS]]
// CHECK: graph.transpose %[[ROWS]]
// CHECK: return
func.func @scaled(%s: tensor<1xf32>, %x: tensor<64x64xf32>) -> (tensor<5001x64xf32>, tensor<64x5001xf32>) {
  %t = graph.constant {value = #graph.weight<"t", 0 : 1280256>} : tensor<5001x64xf32>
  %c = graph.mul %t, %s : (tensor<5001x64xf32>, tensor<1xf32>) -> tensor<5001x64xf32>
  %w = graph.transpose %t {order = array<i64: 1, 0>} : (tensor<5001x64xf32>) -> tensor<64x5001xf32>
  %y = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x5001xf32>) -> tensor<64x5001xf32>
  return %c, %y : tensor<5001x64xf32>, tensor<64x5001xf32>
}

// -----

// A lookup of single elements can't: it would keep the full table, so the table is not padded.
// CHECK-LABEL: func.func @elements
// CHECK-NOT: graph.pad
// CHECK: return
func.func @elements(%ids: tensor<4x64xi64>, %x: tensor<64x64xf32>) -> (tensor<4x64xf32>, tensor<64x5001xf32>) {
  %t = graph.constant {value = #graph.weight<"t", 0 : 1280256>} : tensor<5001x64xf32>
  %c = graph.gather_elements %t, %ids {axis = 0 : i64} : (tensor<5001x64xf32>, tensor<4x64xi64>) -> tensor<4x64xf32>
  %w = graph.transpose %t {order = array<i64: 1, 0>} : (tensor<5001x64xf32>) -> tensor<64x5001xf32>
  %y = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x5001xf32>) -> tensor<64x5001xf32>
  return %c, %y : tensor<4x64xf32>, tensor<64x5001xf32>
}
