// Tests the loop nest to which the pass lowers the ops of each op interface.
// RUN: hewn-opt %s --hewn-lower-kernels-naive --canonicalize --cse | FileCheck %s
// RUN: hewn-opt %s --hewn-lower-kernels-naive --convert-linalg-to-loops | FileCheck %s --check-prefix=LOOPS

// linalg's own passes can convert the result to loops.
// LOOPS-NOT: linalg

// A broadcast dim has stride zero, and a kernel of one op needs no memory of its own.
// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32>, %[[Z:.*]]: memref<?xf32>)
// CHECK-NOT: memref.alloc
// CHECK-DAG: %[[XV:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [4, 8], strides: [8, 1]
// CHECK-DAG: %[[YV:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4, 8], strides: [1, 0]
// CHECK-DAG: %[[ZV:.*]] = memref.reinterpret_cast %[[Z]] to offset: [0], sizes: [4, 8], strides: [8, 1]
// CHECK: linalg.generic {{.*}} ins(%[[XV]], %[[YV]] : {{.*}}) outs(%[[ZV]] : {{.*}})
// CHECK: arith.addf
plan.kernel @elementwise(%x: tensor<4x8xf32>, %y: tensor<4x1xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  %0 = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  graph.yield %0 : tensor<4x8xf32>
}

// An indexing op computes the index of each element.
// CHECK-LABEL: func.func @move
// CHECK: linalg.generic {{.*}} outs(
// CHECK-DAG: %[[I:.*]] = linalg.index 0
// CHECK-DAG: %[[J:.*]] = linalg.index 1
// CHECK: memref.load
plan.kernel @move(%x: tensor<4x8xf32>) -> tensor<8x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  graph.yield %0 : tensor<8x4xf32>
}

// The loop nest of a reduction keeps the running result in registers.
// CHECK-LABEL: func.func @reduce
// CHECK: linalg.generic
// CHECK: %[[ROW:.*]] = linalg.index 0
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%{{.*}}) -> (f32) {
// CHECK: arith.addf
// CHECK: %[[MEAN:.*]] = arith.{{divf|mulf}} %[[SUM]]
// CHECK: linalg.yield %[[MEAN]]
plan.kernel @reduce(%x: tensor<4x8xf32>) -> tensor<4xf32> attributes {symbols = []} {
  %0 = graph.reduce_mean %x {dims = array<i64: 1>, keepdims = false} : (tensor<4x8xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// The loop of an arg-reduction (ArgMax) carries the extreme value and its index, in 32 bits if the
// extent allows it.
// CHECK-LABEL: func.func @position
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%{{.*}}, %{{.*}}) -> (f32, i32) {
// CHECK: %[[LONG:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK: arith.trunci %[[LONG]] : i64 to i32
plan.kernel @position(%x: tensor<8xf32>) -> tensor<1xi64> attributes {symbols = []} {
  %0 = graph.arg_max %x {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<1xi64>
  graph.yield %0 : tensor<1xi64>
}

// The pass lowers a contraction to a loop nest over the result with an inner loop over K.
// CHECK-LABEL: func.func @contract
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[DOT:.*]] = scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[PRODUCT:.*]] = arith.mulf
// CHECK: arith.addf %[[ACC]], %[[PRODUCT]]
// CHECK: memref.store %[[DOT]]
plan.kernel @contract(%x: tensor<4x8xf32>, %y: tensor<8x2xf32>) -> tensor<4x2xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %y : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  graph.yield %0 : tensor<4x2xf32>
}

// The loop of a prefix scan carries the running result along one dim.
// CHECK-LABEL: func.func @scan
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[NEXT:.*]] = arith.addf %[[STATE]]
// CHECK: memref.store %[[NEXT]]
// CHECK: scf.yield %[[NEXT]]
plan.kernel @scan(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.yield %0 : tensor<4x8xf32>
}

// A lookup table is a constant of the kernel, which the nest's body reads.
// CHECK-LABEL: func.func @map_codes
// CHECK: linalg.generic
// CHECK: memref.get_global @table : memref<256xi8>
plan.kernel @map_codes(%x: tensor<4x8xui8>) -> tensor<4x8xi8> attributes {symbols = []} {
  %0 = graph.map_codes %x {table = dense<7> : tensor<256xi8>} : (tensor<4x8xui8>) -> tensor<4x8xi8>
  graph.yield %0 : tensor<4x8xi8>
}
