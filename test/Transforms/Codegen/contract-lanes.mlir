// Targets whose FMA takes one lane of a register as a scalar operand: the left operand is loaded as
// a vector of four K steps, and each of its lanes is multiplied by all columns.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#panels = #graph.layout<[1, 0], blockDim = 1, block = 8>
#words = #graph.layout<[1, 0], blockDim = 1, block = 8, groupDim = 0, group = 4>
#signed = #plan.dot_product<left = i8, right = i8, sum = i32, intrinsic = "llvm.aarch64.neon.sdot", rightFirst = true>
#mixed = #plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.aarch64.neon.usdot">

module attributes {plan.target = #plan.cpu<vectorBytes = 16, vectorRegisters = 32, l1Bytes = 65536, l1Ways = 4, l2Bytes = 1048576, l3Bytes = 0, dots = [#signed, #mixed], hasFmaByLane = true>} {

// CHECK-LABEL: func.func @floats(
// CHECK: %[[FOUR:.*]] = arith.constant 16 : index
// CHECK: scf.for {{.*}} to %[[FOUR]]
// CHECK-COUNT-2: vector.load {{.*}} memref<512xf32
// CHECK: %[[LINE:.*]] = vector.load {{.*}} memref<128xf32{{.*}} vector<4xf32>
// CHECK: vector.extract %[[LINE]][0] : f32 from vector<4xf32>
// CHECK-COUNT-1: vector.load {{.*}} memref<128xf32
// CHECK-NOT: memref<128xf32
// CHECK: vector.extract %[[LINE]][1] : f32 from vector<4xf32>
// CHECK: vector.extract %[[LINE]][3] : f32 from vector<4xf32>
plan.kernel @floats(%x: tensor<2x64xf32>, %w: tensor<64x8xf32, #panels>) -> tensor<2x8xf32>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 8, lanes = 4>} {
  %0 = graph.matmul %x, %w : (tensor<2x64xf32>, tensor<64x8xf32, #panels>) -> tensor<2x8xf32>
  graph.yield %0 : tensor<2x8xf32>
}

// If K is not a multiple of four, the kernel broadcasts each element of the left operand
// separately.
// CHECK-LABEL: func.func @odd(
// CHECK: memref.load
// CHECK: vector.broadcast {{.*}} : f32 to vector<4xf32>
plan.kernel @odd(%x: tensor<2x63xf32>, %w: tensor<63x8xf32, #panels>) -> tensor<2x8xf32>
    attributes {symbols = [], schedule = #plan.contract<m = 2, n = 8, lanes = 4>} {
  %0 = graph.matmul %x, %w : (tensor<2x63xf32>, tensor<63x8xf32, #panels>) -> tensor<2x8xf32>
  graph.yield %0 : tensor<2x8xf32>
}

// For byte dot products, a lane of the left operand is a group of four bytes. The lane operand
// comes after the weights if the instruction requires it.
// CHECK-LABEL: func.func @bytes(
// CHECK: %[[WEIGHTS:.*]] = vector.load {{.*}} memref<512xi8, {{.*}} vector<16xi8>
// CHECK: %[[LINE:.*]] = vector.load {{.*}} memref<64xi8, {{.*}} vector<16xi8>
// CHECK: %[[WORDS:.*]] = vector.bitcast %[[LINE]] : vector<16xi8> to vector<4xi32>
// CHECK: %[[WORD:.*]] = vector.extract %[[WORDS]][0]
// CHECK: %[[SPREAD:.*]] = vector.broadcast %[[WORD]] : i32 to vector<4xi32>
// CHECK: %[[FACTOR:.*]] = vector.bitcast %[[SPREAD]] : vector<4xi32> to vector<16xi8>
// CHECK: llvm.call_intrinsic "llvm.aarch64.neon.sdot"(%{{.*}}, %[[WEIGHTS]], %[[FACTOR]])
// CHECK-LABEL: func.func @left_first(
// CHECK: %[[WEIGHTS:.*]] = vector.load {{.*}} memref<512xi8, {{.*}} vector<16xi8>
// CHECK: %[[FACTOR:.*]] = vector.bitcast %{{.*}} : vector<4xi32> to vector<16xi8>
// CHECK: llvm.call_intrinsic "llvm.aarch64.neon.usdot"(%{{.*}}, %[[FACTOR]], %[[WEIGHTS]])
plan.kernel @bytes(%x: tensor<1x64xi8>, %w: tensor<64x8xi8, #words>) -> tensor<1x8xi32>
    attributes {symbols = [], schedule = #plan.contract<m = 1, n = 8, lanes = 4, unit = dots>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<1x64xi8>, tensor<64x8xi8, #words>) -> tensor<1x8xi32>
  graph.yield %0 : tensor<1x8xi32>
}
plan.kernel @left_first(%x: tensor<1x64xui8>, %w: tensor<64x8xi8, #words>) -> tensor<1x8xi32>
    attributes {symbols = [], schedule = #plan.contract<m = 1, n = 8, lanes = 4, unit = dots>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<1x64xui8>, tensor<64x8xi8, #words>) -> tensor<1x8xi32>
  graph.yield %0 : tensor<1x8xi32>
}

// A register tile of five rows and four vectors of columns: 20 accumulators, 5 vectors of the left
// operand and 4 of weights use 29 registers.
// CHECK-LABEL: func.func @tile(
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-80: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield
plan.kernel @tile(%x: tensor<5x64xf32>, %w: tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<5x16xf32>
    attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<5x64xf32>, tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<5x16xf32>
  graph.yield %0 : tensor<5x16xf32>
}

}
