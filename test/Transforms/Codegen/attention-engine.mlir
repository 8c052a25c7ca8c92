// Fused attention: a few rows of scores on the stack, which are overwritten by the softmax weights,
// and no other buffer.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// The kernel of fused attention has one task for each batch and block of 16 rows. A row of scores
// takes an odd number of cache lines: 5 lines of 16 floats.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: plan.launch_info = #plan.tasks<count = 64,
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

// -----

// A row of bfloat16 softmax weights has no space for the float32 exponentials, which are needed
// before their sum: the exponentials overwrite the scores.
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608,
    dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.256">]>} {
// CHECK-LABEL: func.func @narrow(
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<{{.*}}xf32>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<{{.*}}xbf16>
// CHECK: vector.fma
// CHECK-COUNT-4: math.exp
// CHECK-NOT: math.exp
// CHECK: arith.truncf
// CHECK-NOT: math.exp
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.256"
plan.kernel @narrow(%q: tensor<16x64x32xf32>, %k: tensor<16x32x64xf32>, %v: tensor<16x64x32xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = 16, groupDim = 1, group = 2>>) -> tensor<16x64x32xf32>
    attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
  %d = graph.sub %s, %m : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
  %e = graph.exp %d : (tensor<16x64x64xf32>) -> tensor<16x64x64xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
  %w = graph.div %e, %t : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
  %b = graph.cast %w {to = bf16} : (tensor<16x64x64xf32>) -> tensor<16x64x64xbf16>
  %y = graph.matmul %b, %v {to = f32} : (tensor<16x64x64xbf16>, tensor<16x64x32xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = 16, groupDim = 1, group = 2>>) -> tensor<16x64x32xf32>
  graph.yield %y : tensor<16x64x32xf32>
}
}

// -----

// A hand-written schedule of fused attention: a task has four rows of scores, each of five cache
// lines of 16 floats; the first GEMM has a tile of two rows by one vector.
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
// CHECK-LABEL: func.func @hand(
// CHECK-SAME: plan.launch_info = #plan.tasks<count = 256,
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<320xf32>
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>) {
// CHECK-COUNT-2: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// CHECK: math.exp
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// CHECK-COUNT-4: vector.fma
// CHECK-NOT: vector.fma
plan.kernel @hand(%q: tensor<16x64x32xf32>, %k: tensor<16x32x64xf32>, %v: tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
    attributes {symbols = [], schedule = #plan.attention<rows = 4, head = #plan.contract<m = 2, n = 8, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 1, n = 32, lanes = 8>>} {
  %s = graph.matmul %q, %k : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
  %d = graph.sub %s, %m : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
  %e = graph.exp %d : (tensor<16x64x64xf32>) -> tensor<16x64x64xf32>
  %y = graph.matmul %e, %v : (tensor<16x64x64xf32>, tensor<16x64x32xf32>) -> tensor<16x64x32xf32>
  graph.yield %y : tensor<16x64x32xf32>
}
}
