// Packed low-bit weights on a target with int8 dot products: exact products with int8 slices of the
// left operand.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels --canonicalize --cse --split-input-file | FileCheck %s

#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
#byBytes = #plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.x86.avx512.vpdpbusd.512", accumulates = true>

module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#byBytes]>} {

// A segment of a row of the left operand is stored as its largest element, three int8 slices of
// each element relative to the largest one, lowest slice first, and the initial values of the
// accumulators.
// CHECK-LABEL: func.func @row(
// CHECK-SAME: %[[MEMORY:[a-z0-9]*]]: memref<?xf32>, %{{[a-z0-9]*}}: memref<?xf32>)
// CHECK: arith.maximumf
// CHECK: vector.reduction <maximumf>
// CHECK: math.roundeven
// CHECK: arith.fptosi
// CHECK-COUNT-3: arith.trunci {{.*}} vector<16xi32> to vector<16xi8>
// CHECK: memref.store
// The dot products of 4-bit weights: two weights per byte, times three slices of the left operand,
// times two vectors of columns.
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

// The kernel uses one slice instead of three where the model allows it (accuracy_level 4).
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

// On a target whose dot-product instruction has a signed left operand, the kernel shifts 8-bit
// weights by 128, and accumulators start at zero. 4-bit weights need no shift.
#panels = #graph.layout<[1, 0], blockDim = 1, block = 32>
#signedBytes = #plan.dot_product<left = i8, right = i8, sum = i32, intrinsic = "llvm.some.dot", accumulates = true>

module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#signedBytes]>} {

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

// Tiles of four rows with three slices use all available registers as accumulators: targets with 32
// registers have two vectors of columns, targets with 16 registers have one.
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
#byBytes = #plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot", accumulates = true>

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#byBytes]>} {
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

// On a target with pairwise byte dot products in 16 bits, eight pair sums of 4-bit weights fit into
// 16 bits. The kernel then extends them by a multiplication with ones. Entries of a lookup table,
// which take six bits, are extended after every two sums.
#panels = #graph.layout<[1, 0], blockDim = 1, block = 8>
#pairs = #plan.dot_product<left = ui8, right = i8, sum = i16, intrinsic = "llvm.some.pairs", accumulates = false>
#widen = #plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.widening", accumulates = false>

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#pairs, #widen], permuteBytesIntrinsic = "llvm.some.permutation">} {
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
