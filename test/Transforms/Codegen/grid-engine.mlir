// Kernels of a machine with a grid are code for one thread: no vectors, and no loop but over what the thread takes itself.
// RUN: hewn-opt %s --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912>>} {

// A tile of 64 rows by 64 columns a block; a thread has 4 by 4 of it.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: plan.blocks = 32 : i64, plan.symbols = [], plan.threads = 256 : i64
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: memref.store {{.*}}, 3>
// CHECK: call @hewn.grid.barrier
// CHECK: memref.load {{.*}}, 3>
// CHECK-NOT: vector.
// CHECK: call @hewn.grid.barrier
plan.kernel @tiles(%x: tensor<256x96xf32>, %w: tensor<96x512xf32>, %b: tensor<512xf32>) -> tensor<256x512xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<256x96xf32>, tensor<96x512xf32>) -> tensor<256x512xf32>
  %1 = graph.add %0, %b : (tensor<256x512xf32>, tensor<512xf32>) -> tensor<256x512xf32>
  graph.yield %1 : tensor<256x512xf32>
}

// Few rows: a block takes 32 columns, its warps share the sum.
// CHECK-LABEL: func.func @few(
// CHECK-SAME: plan.blocks = 16 : i64, plan.symbols = [], plan.threads = 256 : i64
// CHECK: scf.for {{.*}} -> (f32, f32)
// CHECK: memref.store {{.*}} : memref<512xf32, 3>
// CHECK: call @hewn.grid.barrier
plan.kernel @few(%x: tensor<2x96xf32>, %w: tensor<96x512xf32>) -> tensor<2x512xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2x96xf32>, tensor<96x512xf32>) -> tensor<2x512xf32>
  graph.yield %0 : tensor<2x512xf32>
}

// A warp a row of 128, eight rows a block: partial sums meet in registers.
// CHECK-LABEL: func.func @warps(
// CHECK-SAME: plan.blocks = 125 : i64, plan.symbols = [], plan.threads = 256 : i64
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32)
// CHECK-COUNT-5: call @hewn.grid.shuffle
// CHECK-NOT: call @hewn.grid.barrier
// CHECK: return
plan.kernel @warps(%x: tensor<1000x128xf32>) -> tensor<1000xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>, keepdims = false} : (tensor<1000x128xf32>) -> tensor<1000xf32>
  graph.yield %0 : tensor<1000xf32>
}

// A block a long row: the warps' sums meet in shared memory.
// CHECK-LABEL: func.func @block(
// CHECK-SAME: plan.blocks = 16 : i64
// CHECK-COUNT-5: call @hewn.grid.shuffle
// CHECK: memref.store {{.*}} : memref<8xf32, 3>
// CHECK: call @hewn.grid.barrier
// CHECK: memref.load {{.*}} : memref<8xf32, 3>
// CHECK: call @hewn.grid.barrier
plan.kernel @block(%x: tensor<16x4096xf32>) -> tensor<16xf32> attributes {symbols = []} {
  %0 = graph.reduce_sum %x {dims = array<i64: 1>, keepdims = false} : (tensor<16x4096xf32>) -> tensor<16xf32>
  graph.yield %0 : tensor<16xf32>
}

// A thread an element; the number of blocks is an expression where sizes are.
// CHECK-LABEL: func.func @map(
// CHECK-SAME: plan.blocks = "min(1048576, floordiv(s0 + 255, 256))", plan.symbols = ["s0"], plan.threads = 256 : i64
// CHECK: call @hewn.grid.thread
// CHECK: call @hewn.grid.block
// CHECK: scf.for
// CHECK: memref.load
// CHECK: arith.addf
// CHECK: memref.store
plan.kernel @map(%x: tensor<?xf32> {graph.dims = ["s0"]}) -> tensor<?xf32> attributes {symbols = ["s0"]} {
  %0 = graph.add %x, %x {graph.dims = [["s0"]]} : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}
}
