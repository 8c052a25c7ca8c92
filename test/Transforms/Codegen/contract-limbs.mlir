// Weights of few bits on a machine that multiplies integers: limbs of the left operand, products that are exact.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse --split-input-file | FileCheck %s

#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
#byBytes = #plan.dot<left = ui8, right = i8, sum = i32, intrinsic = "llvm.x86.avx512.vpdpbusd.512", accumulates = true>

module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#byBytes]>} {

// A segment: its largest element, three limbs of each element by that, lowest first, and behind them what its sums begin with.
// CHECK-LABEL: func.func @row(
// CHECK-SAME: %[[MEMORY:[a-z0-9]*]]: memref<?xf32>, %{{[a-z0-9]*}}: memref<?xf32>)
// CHECK: arith.maximumf
// CHECK: vector.reduction <maximumf>
// CHECK: math.roundeven
// CHECK: arith.fptosi
// CHECK-COUNT-3: arith.trunci {{.*}} vector<16xi32> to vector<16xi8>
// CHECK: memref.store
// Half a byte is a code: two of each, three limbs, two vectors of columns.
// CHECK-COUNT-12: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK-NOT: llvm.call_intrinsic
// CHECK-COUNT-3: arith.sitofp
// CHECK: vector.fma
plan.kernel @row(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<1x128xf32>) -> (tensor<1x112xf32>, tensor<1x32xf32>) attributes {symbols = []} {
  %m = graph.scratch {shape = [1, 112], of = f32} : () -> tensor<1x112xf32>
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %m, %1 : tensor<1x112xf32>, tensor<1x32xf32>
}

// One limb, where the model allows that.
// CHECK-LABEL: func.func @rounded(
// CHECK-COUNT-1: arith.trunci {{.*}} vector<16xi32> to vector<16xi8>
// CHECK-NOT: arith.trunci
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK-NOT: llvm.call_intrinsic
plan.kernel @rounded(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<1x128xf32>) -> (tensor<1x48xf32>, tensor<1x32xf32>) attributes {symbols = []} {
  %m = graph.scratch {shape = [1, 48], of = f32} : () -> tensor<1x48xf32>
  %0 = graph.decode %w, %s {bits = 4, block = 64, roundsData = true} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %m, %1 : tensor<1x48xf32>, tensor<1x32xf32>
}

}

// -----

// Where the instruction's left operand has a sign: a byte is multiplied less 128, its middle, and sums begin with nothing; half a byte
// fits as it is.
#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
#signedBytes = #plan.dot<left = i8, right = i8, sum = i32, intrinsic = "llvm.some.dot", accumulates = true>

module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#signedBytes]>} {

// CHECK-LABEL: func.func @bytes(
// CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<-2139062144> : vector<16xi32>
// CHECK-NOT: arith.muli {{.*}} : i32
// CHECK: %[[CODES:.*]] = arith.xori %{{.*}}, %[[HIGH]] : vector<16xi32>
// CHECK: %[[BYTES:.*]] = vector.bitcast %[[CODES]] : vector<16xi32> to vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.some.dot"(%{{.*}}, %[[BYTES]], %{{.*}})
plan.kernel @bytes(%w: tensor<32x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 8, block = 64} : (tensor<32x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}

// CHECK-LABEL: func.func @halves(
// CHECK: arith.constant -8 : i32
// CHECK-NOT: arith.xori
// CHECK: llvm.call_intrinsic "llvm.some.dot"
plan.kernel @halves(%w: tensor<16x32xui32, #panels>, %s: tensor<2x32xf32, #panels>, %x: tensor<1x128xf32>) -> tensor<1x32xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x32xui32, #panels>, tensor<2x32xf32, #panels>) -> tensor<128x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x32xf32>) -> tensor<1x32xf32>
  graph.yield %1 : tensor<1x32xf32>
}

}

// -----

// Four rows of three limbs have as many sums as the registers hold beside what is multiplied: of 32 two vectors of columns, of 16 one.
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
#byBytes = #plan.dot<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot", accumulates = true>

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#byBytes]>} {
// CHECK-LABEL: func.func @fewRegisters(
// CHECK: scf.for
// CHECK-COUNT-24: llvm.call_intrinsic "llvm.some.dot"
// CHECK-NOT: llvm.call_intrinsic
// CHECK: scf.yield
plan.kernel @fewRegisters(%w: tensor<16x16xui32, #panels>, %s: tensor<2x16xf32, #panels>, %x: tensor<4x128xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.decode %w, %s {bits = 4, block = 64} : (tensor<16x16xui32, #panels>, tensor<2x16xf32, #panels>) -> tensor<128x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<4x128xf32>, tensor<128x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
}

// -----

// A machine that sums products of bytes by pairs, in 16 bits: eight sums of pairs of codes of 4 bits have room there, then they are widened by ones. A
// table's numbers, which take six bits, are widened two by two.
#panels = #graph.layout<[1, 0], blockDim = 1, block = 8>
#pairs = #plan.dot<left = ui8, right = i8, sum = i16, intrinsic = "llvm.some.pairs", accumulates = false>
#widen = #plan.dot<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.widening", accumulates = false>

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#pairs, #widen], permuteBytesIntrinsic = "llvm.some.permutation">} {
// CHECK-LABEL: func.func @byPairs(
// CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1> : vector<16xi16>
// CHECK-COUNT-24: llvm.call_intrinsic "llvm.some.pairs"
// CHECK-NOT: llvm.some.pairs
// CHECK: llvm.call_intrinsic "llvm.some.widening"(%{{.*}}, %[[ONES]])
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.some.widening"
// CHECK-NOT: llvm.call_intrinsic
plan.kernel @byPairs(%w: tensor<16x8xui32, #panels>, %s: tensor<4x8xf32, #panels>, %x: tensor<1x128xf32>) -> (tensor<1x128xf32>, tensor<1x8xf32>) attributes {symbols = []} {
  %m = graph.scratch {shape = [1, 128], of = f32} : () -> tensor<1x128xf32>
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<16x8xui32, #panels>, tensor<4x8xf32, #panels>) -> tensor<128x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x8xf32>) -> tensor<1x8xf32>
  graph.yield %m, %1 : tensor<1x128xf32>, tensor<1x8xf32>
}

// CHECK-LABEL: func.func @byTable(
// CHECK: %[[TABLE:.*]] = vector.shuffle {{.*}} 13, 14, 15, 0, 1, 2, {{.*}} : vector<16xi8>, vector<16xi8>
// CHECK: %[[CODES:.*]] = llvm.call_intrinsic "llvm.some.permutation"(%[[TABLE]], %{{.*}})
// CHECK: llvm.call_intrinsic "llvm.some.pairs"(%[[CODES]], %{{.*}})
// CHECK-COUNT-5: llvm.call_intrinsic "llvm.some.pairs"
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.some.widening"
// CHECK-NOT: llvm.call_intrinsic
plan.kernel @byTable(%w: tensor<16x8xui32, #panels>, %s: tensor<4x8xf32, #panels>, %t: tensor<16xf32>, %x: tensor<1x128xf32>) -> (tensor<1x128xf32>, tensor<1x8xf32>) attributes {symbols = []} {
  %m = graph.scratch {shape = [1, 128], of = f32} : () -> tensor<1x128xf32>
  %0 = graph.decode_by_table %w, %s, %t {bits = 4, block = 32, inBytes = true} : (tensor<16x8xui32, #panels>, tensor<4x8xf32, #panels>, tensor<16xf32>) -> tensor<128x8xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x128xf32>, tensor<128x8xf32>) -> tensor<1x8xf32>
  graph.yield %m, %1 : tensor<1x128xf32>, tensor<1x8xf32>
}
}
