// Tests by which address and in which storage type naive code (-O0) accesses a tensor element.
// RUN: hewn-opt %s --hewn-lower-kernels-naive --canonicalize --cse | FileCheck %s

// float16 values are computed in float32, and bools are stored as bytes.
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

// If a dim may be 1 at run time and then broadcasts, the code selects its stride at run time.
// CHECK-LABEL: func.func @symbolic
// CHECK-SAME: %[[A:[^:]*]]: index, %[[B:[^:]*]]: index)
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[B]], %{{.*}} : index
// CHECK: %[[STRIDE:.*]] = arith.select %[[ONE]], %{{.*}}, %{{.*}} : index
// CHECK: memref.reinterpret_cast %{{.*}} strides: [%[[STRIDE]]]
plan.kernel @symbolic(%x: tensor<?xf32> {graph.dims = [#graph.dim<"a">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"b">]}) -> tensor<?xf32>
    attributes {symbols = ["a", "b"]} {
  %0 = graph.mul %x, %y {graph.dims = [[#graph.dim<"max(a, b)">]]} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}

// The memory layout of a tensor becomes an order of strides.
// CHECK-LABEL: func.func @layout
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [2, 3, 5], strides: [15, 1, 3]
plan.kernel @layout(%x: tensor<2x3x5xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x3x5xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<2x3x5xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x3x5xf32>
  graph.yield %0 : tensor<2x3x5xf32>
}

// The code uses the value of a splat constant without a load.
// CHECK-LABEL: func.func @splat
// CHECK: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
// CHECK: ins(%{{.*}} : memref
// CHECK: arith.mulf %{{.*}}, %[[TWO]] : f32
plan.kernel @splat(%x: tensor<4xf32>) -> tensor<4xf32> attributes {symbols = []} {
  %c = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = graph.mul %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// The code branches for a padded element, because it must not read outside of the operand.
// CHECK-LABEL: func.func @outside
// CHECK: scf.if %{{.*}} -> (f32) {
// CHECK: memref.load
// CHECK: } else {
// CHECK-NOT: memref.load
// CHECK: linalg.yield
plan.kernel @outside(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<6xf32> attributes {symbols = []} {
  %0 = graph.pad %x, %v {low = [1], high = [1]} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  graph.yield %0 : tensor<6xf32>
}
