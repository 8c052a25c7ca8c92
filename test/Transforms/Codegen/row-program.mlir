// Row-wise reductions and surrounding ops as passes over a row.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// The code of a softmax has three passes in one loop over the rows: the first computes the maximum,
// the second exp and its sum, with exp stored in the row of the result, and the third divides. Four
// accumulators hide the latency of the additions. Nothing is allocated, and exp is computed once.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>)
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-NOT: math.exp
// CHECK: vector.shuffle
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK: vector.load %[[X]]
// CHECK: %[[E:.*]] = math.exp
// CHECK: vector.store %[[E]], %[[Y]]
// CHECK: vector.shuffle
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: vector.load %[[Y]]
// CHECK: arith.divf
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK-NOT: masked
plan.kernel @softmax(%x: tensor<4x512xf32>) -> tensor<4x512xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %x, %0 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  %2 = graph.exp %1 : (tensor<4x512xf32>) -> tensor<4x512xf32>
  %3 = graph.reduce_sum %2 {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %4 = graph.div %2, %3 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  graph.yield %4 : tensor<4x512xf32>
}

// A reduction over rows whose length is not a multiple of the vector length ends with a masked
// vector, whose inactive lanes add nothing.
// CHECK-LABEL: func.func @tail(
// CHECK: vector.maskedload
// CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK: vector.shuffle
plan.kernel @tail(%x: tensor<4x515xf32>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<4x515xf32>) -> tensor<4x1xf32>
  graph.yield %0 : tensor<4x1xf32>
}

// If the reduced dim is not innermost, each lane of a vector reduces a row of its own, without
// cross-lane operations. The code processes as many vectors of rows together as fit half of the
// registers.
// CHECK-LABEL: func.func @vertical(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: vector.store
plan.kernel @vertical(%x: tensor<512x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 0>} : (tensor<512x64xf32>) -> tensor<1x64xf32>
  graph.yield %0 : tensor<1x64xf32>
}

// The code processes the remaining vectors of rows one by one, the last one under a mask.
// CHECK-LABEL: func.func @left_over(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CHECK: scf.for {{.*}} iter_args(%{{.*}}) -> (vector<8xf32>) {
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
plan.kernel @left_over(%x: tensor<512x20xf32>) -> tensor<1x20xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 0>} : (tensor<512x20xf32>) -> tensor<1x20xf32>
  graph.yield %0 : tensor<1x20xf32>
}

// Contiguous reduced dims are merged: 3 x 40 elements are one loop of full vectors without an outer
// loop.
// CHECK-LABEL: func.func @joined(
// CHECK-DAG: %[[WHOLE:.*]] = arith.constant 96 : index
// CHECK: scf.for
// CHECK-NEXT: scf.for {{.*}} to %[[WHOLE]] {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
plan.kernel @joined(%x: tensor<70x3x40xf32>) -> tensor<70x1x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1, 2>} : (tensor<70x3x40xf32>) -> tensor<70x1x1xf32>
  graph.yield %0 : tensor<70x1x1xf32>
}

// The code does not merge contiguous reduced dims if an operand has another stride along one of
// them.
// CHECK-LABEL: func.func @apart(
// CHECK: scf.for {{.*}} to %[[THREE:[^ ]*]] step {{.*}} iter_args
plan.kernel @apart(%x: tensor<70x3x40xf32>, %w: tensor<40xf32>) -> tensor<70x1x1xf32> attributes {symbols = []} {
  %0 = graph.mul %x, %w : (tensor<70x3x40xf32>, tensor<40xf32>) -> tensor<70x3x40xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1, 2>} : (tensor<70x3x40xf32>) -> tensor<70x1x1xf32>
  graph.yield %1 : tensor<70x1x1xf32>
}

// Two reductions of one operand share a pass over the row. The pass is unrolled if a row has only a
// few vectors.
// CHECK-LABEL: func.func @together(
// CHECK: vector.load
// CHECK: arith.mulf
// CHECK-NOT: scf.yield
// CHECK: vector.load
// CHECK: arith.mulf
// CHECK-NOT: vector.load
plan.kernel @together(%x: tensor<16xf32>) -> (tensor<1xf32>, tensor<1xf32>) attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 0>} : (tensor<16xf32>) -> tensor<1xf32>
  %1 = graph.mul %x, %x : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %2 = graph.reduce_sum %1 {dims = array<i64: 0>} : (tensor<16xf32>) -> tensor<1xf32>
  graph.yield %0, %2 : tensor<1xf32>, tensor<1xf32>
}

// A result with one element per row has its own rank: its third dim is the first dim of the
// iteration space.
// CHECK-LABEL: func.func @ranks(
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[T:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>,
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// CHECK: memref.store %{{.*}}, %[[Y]][%[[ROW]]]
plan.kernel @ranks(%x: tensor<34x512xf32>, %t: tensor<1x1x1x1xf32>) -> tensor<1x1x34x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<34x512xf32>) -> tensor<34x1xf32>
  %1 = graph.mul %0, %t : (tensor<34x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x34x1xf32>
  graph.yield %1 : tensor<1x1x34x1xf32>
}

// A reduction result that is broadcast along another dim than the reduced one is no row-wise
// kernel: each element recomputes the reduction.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>,
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.store %{{.*}}, %[[Y]]
plan.kernel @columns(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>, keepdims = false} : (tensor<512x512xf32>) -> tensor<512xf32>
  %1 = graph.sub %0, %x : (tensor<512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  graph.yield %1 : tensor<512x512xf32>
}

// A row-wise kernel stores exp in the row of the result for later passes, unless another row reads
// the stored value.
// CHECK-LABEL: func.func @not_kept(
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>,
// CHECK-NOT: load %[[Y]]
// CHECK: return
plan.kernel @not_kept(%x: tensor<512x512xf32>) -> tensor<512x512xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1>} : (tensor<512x512xf32>) -> tensor<512x1xf32>
  %2 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %3 = graph.div %2, %1 : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
  graph.yield %3 : tensor<512x512xf32>
}

}
