// RUN: hewn-opt %s --hewn-lower-kernels-naive --canonicalize --cse | FileCheck %s
// RUN: hewn-opt %s --hewn-lower-kernels-naive --convert-linalg-to-loops | FileCheck %s --check-prefix=LOOPS

// linalg can write all of it as loops.
// LOOPS-NOT: linalg

// A broadcast dim is a stride of zero, and a kernel of one op has no memory of its own.
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

// A dim that may be 1 when run: its stride is chosen then.
// CHECK-LABEL: func.func @symbolic
// CHECK-SAME: %[[A:[^:]*]]: index, %[[B:[^:]*]]: index)
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[B]], %{{.*}} : index
// CHECK: %[[STRIDE:.*]] = arith.select %[[ONE]], %{{.*}}, %{{.*}} : index
// CHECK: memref.reinterpret_cast %{{.*}} strides: [%[[STRIDE]]]
plan.kernel @symbolic(%x: tensor<?xf32> {graph.dims = ["a"]}, %y: tensor<?xf32> {graph.dims = ["b"]}) -> tensor<?xf32>
    attributes {symbols = ["a", "b"]} {
  %0 = graph.mul %x, %y {graph.dims = [["max(a, b)"]]} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}

// Half floats are computed as floats, bools are bytes.
// CHECK-LABEL: func.func @storage
// CHECK-SAME: memref<?xf16>, %{{.*}}: memref<?xf16>, %{{.*}}: memref<?xi8>)
// CHECK: ^bb0(%[[L:.*]]: f16, %[[R:.*]]: f16, %{{.*}}: i8):
// CHECK-DAG: %[[LF:.*]] = arith.extf %[[L]] : f16 to f32
// CHECK-DAG: %[[RF:.*]] = arith.extf %[[R]] : f16 to f32
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[LF]], %[[RF]] : f32
// CHECK: arith.extui %[[LESS]] : i1 to i8
plan.kernel @storage(%x: tensor<16xf16>, %y: tensor<16xf16>) -> tensor<16xi1> attributes {symbols = []} {
  %0 = graph.less %x, %y : (tensor<16xf16>, tensor<16xf16>) -> tensor<16xi1>
  graph.yield %0 : tensor<16xi1>
}

// A move finds its elements by index.
// CHECK-LABEL: func.func @move
// CHECK: linalg.generic {{.*}} outs(
// CHECK-DAG: %[[I:.*]] = linalg.index 0
// CHECK-DAG: %[[J:.*]] = linalg.index 1
// CHECK: memref.load
plan.kernel @move(%x: tensor<4x8xf32>) -> tensor<8x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  graph.yield %0 : tensor<8x4xf32>
}

// A reduction keeps its state in registers.
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

// What lies between the ops of one kernel is in memory; a constant is not, and a layout is an order of strides.
// CHECK-LABEL: func.func @two_ops
// CHECK: %[[BETWEEN:.*]] = memref.alloc(
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [2, 3, 5, 7], strides: [105, 1, 21, 3]
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: memref.dealloc %[[BETWEEN]]
plan.kernel @two_ops(%x: tensor<2x3x5x7xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<2x3x5x7xf32> attributes {symbols = []} {
  %c = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = graph.mul %x, %c : (tensor<2x3x5x7xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %1 = graph.relu %0 : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  graph.yield %1 : tensor<2x3x5x7xf32>
}
