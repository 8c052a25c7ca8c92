// Code of GEMMs with packed low-bit weights in panels, which the kernel dequantizes in registers.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#panels = #graph.layout<[0, 1], blockDim = 1, block = 16>

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// Code for one row: it loads the scales of each block of weights, and from each 32-bit word eight
// 4-bit values, lowest bits first, and shifts each value into the mantissa of a number in [1, 2).
// The block's accumulators are scaled at its end, and the sum of the left operand's elements,
// scaled in the same way, is added. Without offsets, the midpoint is zero.
// CHECK-LABEL: func.func @row(
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %{{.*}} vector<8xf32>
// CHECK-NOT: vector.load %{{.*}} vector<8xi32>
// CHECK: %[[T:.*]]:3 = scf.for {{.*}} iter_args
// CHECK-COUNT-2: vector.load %{{.*}} vector<8xi32>
// CHECK: %[[S:.*]] = arith.shli %{{.*}}, %{{.*}} : vector<8xi32>
// CHECK: %[[A:.*]] = arith.andi %[[S]]
// CHECK: %[[O:.*]] = arith.ori %[[A]]
// CHECK: vector.bitcast %[[O]] : vector<8xi32> to vector<8xf32>
// CHECK: vector.bitcast
// CHECK: vector.fma
// CHECK-COUNT-14: vector.bitcast
// CHECK-NOT: vector.bitcast
// CHECK: scf.yield
// CHECK: vector.fma %[[T]]#2
// CHECK: vector.fma %[[T]]#0
// CHECK: vector.store
plan.kernel @row(%w: tensor<8x16xui32, #panels>, %s: tensor<2x16xf32, #panels>, %x: tensor<1x64xf32>) -> tensor<1x16xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<8x16xui32, #panels>, tensor<2x16xf32, #panels>) -> tensor<64x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x16xf32>) -> tensor<1x16xf32>
  graph.yield %1 : tensor<1x16xf32>
}

// If many rows share a panel of weights, the kernel dequantizes the panel once into the scratch
// memory of the thread, and then computes tiles as for float weights.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: memref<?xi32>, %{{[a-z0-9]*}}: memref<?xf32>, %{{[a-z0-9]*}}: memref<?xf32>, %[[MEMORY:[a-z0-9]*]]: memref<?xf32>
// CHECK: vector.bitcast
// CHECK-COUNT-16: vector.store %{{.*}}, %[[MEMORY]]
// CHECK-NOT: vector.bitcast
// CHECK: memref.reinterpret_cast %[[MEMORY]]
// CHECK: scf.for {{.*}} iter_args
plan.kernel @rows(%w: tensor<8x16xui32, #panels>, %s: tensor<2x16xf32, #panels>, %x: tensor<100x64xf32>) -> (tensor<16x1024xf32>, tensor<100x16xf32>) attributes {symbols = []} {
  %m = graph.scratch {shape = [16, 1024], of = f32} : () -> tensor<16x1024xf32>
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<8x16xui32, #panels>, tensor<2x16xf32, #panels>) -> tensor<64x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<100x64xf32>, tensor<64x16xf32>) -> tensor<100x16xf32>
  graph.yield %m, %1 : tensor<16x1024xf32>, tensor<100x16xf32>
}

// If packed weights are not in panels, the kernel dequantizes each element where it reads it.
// CHECK-LABEL: func.func @loops(
// CHECK: arith.shrui
// CHECK: arith.sitofp
plan.kernel @loops(%w: tensor<8x16xui32>, %s: tensor<2x16xf32>, %x: tensor<1x64xf32>) -> tensor<1x16xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<8x16xui32>, tensor<2x16xf32>) -> tensor<64x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x16xf32>) -> tensor<1x16xf32>
  graph.yield %1 : tensor<1x16xf32>
}

}
