// Reductions over a row and what surrounds them, as passes over the row.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// Softmax is three passes in one loop over the rows: the largest; exp and its sum, with exp kept in the row of the result;
// the division. Four chains hide the latency of a sum. Nothing is allocated, and exp is computed once.
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

// A row that is no number of whole vectors ends with one that is masked, and lanes past the end add nothing.
// CHECK-LABEL: func.func @tail(
// CHECK: vector.maskedload
// CHECK: arith.select %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK: vector.shuffle
plan.kernel @tail(%x: tensor<4x515xf32>) -> tensor<4x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<4x515xf32>) -> tensor<4x1xf32>
  graph.yield %0 : tensor<4x1xf32>
}

// Where the reduced dim is not the innermost, each lane is a row of its own, and lanes never meet; as many vectors of rows as half of the
// registers hold are walked together.
// CHECK-LABEL: func.func @vertical(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: vector.store
plan.kernel @vertical(%x: tensor<512x64xf32>) -> tensor<1x64xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 0>} : (tensor<512x64xf32>) -> tensor<1x64xf32>
  graph.yield %0 : tensor<1x64xf32>
}

// Those that are left over are walked one by one, the last under a mask.
// CHECK-LABEL: func.func @left_over(
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CHECK: scf.for {{.*}} iter_args(%{{.*}}) -> (vector<8xf32>) {
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
plan.kernel @left_over(%x: tensor<512x20xf32>) -> tensor<1x20xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 0>} : (tensor<512x20xf32>) -> tensor<1x20xf32>
  graph.yield %0 : tensor<1x20xf32>
}

// Dims that lie one after the other are walked as one: 3 x 40 elements have a loop of whole vectors, and no loop outside of it.
// CHECK-LABEL: func.func @joined(
// CHECK-DAG: %[[WHOLE:.*]] = arith.constant 96 : index
// CHECK: scf.for
// CHECK-NEXT: scf.for {{.*}} to %[[WHOLE]] {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
plan.kernel @joined(%x: tensor<70x3x40xf32>) -> tensor<70x1x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1, 2>} : (tensor<70x3x40xf32>) -> tensor<70x1x1xf32>
  graph.yield %0 : tensor<70x1x1xf32>
}

// Not where something that is read lies otherwise.
// CHECK-LABEL: func.func @apart(
// CHECK: scf.for {{.*}} to %[[THREE:[^ ]*]] step {{.*}} iter_args
plan.kernel @apart(%x: tensor<70x3x40xf32>, %w: tensor<40xf32>) -> tensor<70x1x1xf32> attributes {symbols = []} {
  %0 = graph.mul %x, %w : (tensor<70x3x40xf32>, tensor<40xf32>) -> tensor<70x3x40xf32>
  %1 = graph.reduce_sum %0 {dims = array<i64: 1, 2>} : (tensor<70x3x40xf32>) -> tensor<70x1x1xf32>
  graph.yield %1 : tensor<70x1x1xf32>
}

// Two reductions of one operand share a pass, which is no loop where a row is a few vectors.
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

// A result of one element a row lies where the row does, in the rank that it has: its third dim is the space's first.
// CHECK-LABEL: func.func @ranks(
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>, %[[T:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xf32>,
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// CHECK: memref.store %{{.*}}, %[[Y]][%[[ROW]]]
plan.kernel @ranks(%x: tensor<34x512xf32>, %t: tensor<1x1x1x1xf32>) -> tensor<1x1x34x1xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>} : (tensor<34x512xf32>) -> tensor<34x1xf32>
  %1 = graph.mul %0, %t : (tensor<34x1xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x34x1xf32>
  graph.yield %1 : tensor<1x1x34x1xf32>
}

// What meets another dim than it was reduced along is no row program: each element reduces for itself.
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

// exp is kept in the row of the result for later passes, but not where something reads it in another row.
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
