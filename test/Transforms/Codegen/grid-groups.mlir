// Contractions of half floats by groups of warps, from shared memory, where the machine has such an instruction.
// RUN: hewn-opt %s --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 132, warp = 32, sharedBytes = 232448, products = 3, groupRate = 1000>>} {

// A group has 64 rows: two of them, four slices of 64 bytes, which both operands have in one memory that a block is given. The left operand's lines are 64 bytes along the sum, eight of them 512
// bytes; the right one's 128 bytes along its columns, a second panel of them 4096 bytes behind the first. The next slice is brought
// while the products go on.
// CHECK-DAG: memref.global "private" @groups_shared : memref<65536xi8, 3> = uninitialized {alignment = 1024 : i64}
// CHECK-LABEL: func.func @groups(
// CHECK-SAME: plan.blocks = 16 : i64, plan.shared_bytes = 65536 : i64, plan.symbols = [], plan.threads = 256 : i64
// CHECK-DAG: %[[LEFT:.*]] = arith.constant -9223371899415822336 : i64
// CHECK-DAG: %[[RIGHT:.*]] = arith.constant 4611686293322072064 : i64
// CHECK-DAG: memref.view {{.*}}[%c0][] : memref<65536xi8, 3> to memref<16384xf16, 3>
// CHECK-DAG: memref.view {{.*}}[%c32768][] : memref<65536xi8, 3> to memref<16384xf16, 3>
// CHECK: scf.for
// CHECK: call @hewn.grid.copies.wait(%c2_i32)
// CHECK-NEXT: call @hewn.grid.group.publish()
// CHECK-NEXT: call @hewn.grid.barrier
// CHECK: call @hewn.grid.group.begin()
// CHECK: call @hewn.grid.group.product.f16.k.m.128({{.*}}, {{.*}}, %[[LEFT]], %[[RIGHT]],
// CHECK: call @hewn.grid.group.product.f16.k.m.128(
// CHECK-NOT: call @hewn.grid.group.product
// CHECK: call @hewn.grid.group.close()
// CHECK: call @hewn.grid.copy16
// CHECK: call @hewn.grid.copies.close
// CHECK: call @hewn.grid.group.wait.128(%c0_i32
// CHECK: return
plan.kernel @groups(%x: tensor<512x64xf16>, %w: tensor<64x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.schedule<m = 128, n = 128>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// As few slices as the schedule says: nothing has to be given.
// CHECK-LABEL: func.func @ring(
// CHECK-SAME: attributes {plan.blocks = 16 : i64, plan.symbols = [], plan.threads = 256 : i64}
// CHECK: call @hewn.grid.copies.wait(%c1_i32)
// CHECK: return
plan.kernel @ring(%x: tensor<512x64xf16>, %w: tensor<64x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.schedule<m = 128, n = 128, buffers = 3>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// Fewer rows than a group has are multiplied by each warp on its own, and so is float32.
// CHECK-LABEL: func.func @fewer(
// CHECK-NOT: hewn.grid.group
// CHECK: call @hewn.grid.product.f16(
// CHECK: return
plan.kernel @fewer(%x: tensor<512x64xf16>, %w: tensor<64x512xf16>) -> tensor<512x512xf16> attributes {symbols = [], schedule = #plan.schedule<m = 32, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf16>, tensor<64x512xf16>) -> tensor<512x512xf16>
  graph.yield %0 : tensor<512x512xf16>
}

// CHECK-LABEL: func.func @exact(
// CHECK-NOT: hewn.grid.group
// CHECK: call @hewn.grid.product(
// CHECK: return
plan.kernel @exact(%x: tensor<512x64xf32>, %w: tensor<64x512xf32>) -> tensor<512x512xf32> attributes {symbols = [], schedule = #plan.schedule<m = 64, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<512x64xf32>, tensor<64x512xf32>) -> tensor<512x512xf32>
  graph.yield %0 : tensor<512x512xf32>
}

}
