// Contractions by the matrix instruction of a warp: three products for float32, one for numbers that fit its factors.
// RUN: hewn-opt %s --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912, products = 3>>} {

// A tile of 32 by 32, one fragment of 16 by 8 a warp; two steps of 8 a slice. The next slice is brought while this one is multiplied.
// CHECK-LABEL: func.func @three(
// CHECK-SAME: plan.blocks = 16 : i64, plan.symbols = [], plan.threads = 256 : i64
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-COUNT-6: call @hewn.grid.product
// CHECK-NOT: call @hewn.grid.product
// CHECK: vector.store {{.*}} : memref<{{.*}}, 3>, vector<4xf32>
// CHECK: call @hewn.grid.barrier
plan.kernel @three(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.schedule<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// Half floats are one product, exactly.
// CHECK-LABEL: func.func @half(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32)
// CHECK-COUNT-2: call @hewn.grid.product
// CHECK-NOT: call @hewn.grid.product
// CHECK: return
plan.kernel @half(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.schedule<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}
}
