// Two contractions with rows between them: a few rows of scores on the stack, which become the weights, and no other buffer.
// RUN: hewn-opt %s --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// Tasks are batches times blocks of 16 rows; a row takes an odd number of cache lines: 5 of 16 floats.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: plan.tasks = 64
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<1280xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for
// CHECK: vector.fma
// CHECK: math.exp
// CHECK: vector.fma
plan.kernel @attention(%q: tensor<16x64x32xf32>, %k: tensor<16x32x64xf32>, %v: tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
    attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
  %d = graph.sub %s, %m : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
  %e = graph.exp %d : (tensor<16x64x64xf32>) -> tensor<16x64x64xf32>
  %y = graph.matmul %e, %v : (tensor<16x64x64xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  graph.yield %y : tensor<16x64x32xf32>
}
}
