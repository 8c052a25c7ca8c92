// A window of 3 x 3 with transformed weights: tiles are transformed into scratch memory, multiplied, transformed back.
// RUN: split-file %s %t
// RUN: hewn-opt %t/conv.mlir --hewn-decide-groups --hewn-form-groups --hewn-outline-kernels --hewn-decide-kernels | FileCheck %s --check-prefix=KERNEL
// RUN: hewn-opt %t/conv.mlir --hewn-decide-groups --hewn-form-groups --hewn-outline-kernels --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=LOOPS --implicit-check-not=memref.prefetch
// RUN: sed 's/l2Bytes = 1048576/l2Bytes = 8192/' %t/conv.mlir | hewn-opt --hewn-decide-groups --hewn-form-groups --hewn-outline-kernels --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=AHEAD
// RUN: hewn-opt %t/hand.mlir --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=HAND
// RUN: hewn-opt %t/few.mlir --hewn-decide-groups --hewn-form-groups --hewn-outline-kernels --hewn-decide-kernels | FileCheck %s --check-prefix=FEW
// RUN: hewn-opt %t/few.mlir --hewn-decide-groups --hewn-form-groups --hewn-outline-kernels --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=SHARED
// RUN: not hewn-opt %t/other.mlir --hewn-decide-kernels --hewn-lower-kernels 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not hewn-opt %t/run-time.mlir --hewn-decide-kernels --hewn-lower-kernels 2>&1 | FileCheck %s --check-prefix=RUN-TIME
// RUN: not hewn-opt %t/layout.mlir 2>&1 | FileCheck %s --check-prefix=LAYOUT

//--- conv.mlir
// The kernel leaves out the border and gets memory for its tiles.
// KERNEL: plan.kernel @pad_conv_relu
// KERNEL-SAME: -> (tensor<1x10240xf32>, tensor<1x16x8x8xf32, #{{.*}}>)
// KERNEL-SAME: schedule = #plan.winograd<block = 20, m = 10, n = 16, lanes = 16, stride = 16, slots = 1>
// KERNEL-SAME: windows by minimal filtering, tiles of 2
// KERNEL: graph.scratch {{.*}}shape = [1, 10240]
// KERNEL: plan.launch @pad_conv_relu({{.*}} -> (tensor<1x10240xf32>, tensor<1x16x8x8xf32, #{{.*}}>)

// 16 places of a tile, 8 or 16 lanes of channels; those that are not inside are masked.
// LOOPS-LABEL: func.func @pad_conv_relu
// LOOPS: scf.if
// LOOPS-COUNT-16: vector.load
// LOOPS: arith.subf
// LOOPS-COUNT-16: vector.store
// LOOPS: else
// LOOPS-COUNT-16: vector.maskedload
// LOOPS: vector.fma
// LOOPS-COUNT-16: vector.load
// LOOPS-COUNT-4: vector.store

// Weights that the second cache does not keep are asked for a place ahead: after the last one of a panel the next panel's first.
// AHEAD: scf.for {{.*}} -> (vector<16xf32>
// AHEAD: memref.prefetch
// AHEAD: vector.fma
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @main(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>> {
    %0 = graph.pad %x {high = [0, 0, 1, 1], low = [0, 0, 1, 1]} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x16x10x10xf32, #graph.layout<[0, 2, 3, 1]>>
    %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x10x10xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
    %2 = graph.relu %1 : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
    return %2 : tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

//--- hand.mlir
// A schedule by hand: blocks of four tiles in two slots, whose products are two rows by one vector.
// HAND-LABEL: func.func @hand
// HAND-SAME: plan.launch_info = #plan.tasks<count = 2,
// HAND: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// HAND-COUNT-2: vector.fma
// HAND-NOT: vector.fma
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  plan.kernel @hand(%x: tensor<1x16x50x50xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x48x48xf32, #graph.layout<[0, 2, 3, 1]>>
      attributes {symbols = [], schedule = #plan.winograd<block = 4, m = 2, n = 16, lanes = 16, stride = 16, slots = 2>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x50x50xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x48x48xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x48x48xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

//--- few.mlir
// One block of tiles, whose three panels of columns (and a fourth of a part of one) three threads may share: each transforms the operand.
// FEW: schedule = #plan.winograd<block = {{.*}}, n = 64, lanes = 16, stride = 16, slots = 3>
// FEW: graph.scratch {{.*}}shape = [3, 
// SHARED-LABEL: func.func @conv
// SHARED-SAME: %[[BEGIN:[^:]*]]: index, %[[END:[^:]*]]: index)
// SHARED-SAME: plan.launch_info = #plan.tasks<count = 3,
// SHARED: arith.muli %[[BEGIN]],
// SHARED: %[[TO:.*]] = arith.minsi %[[END]], %c3
// SHARED: arith.subi %[[TO]], %[[BEGIN]]
// SHARED: arith.cmpi eq, %[[END]], %c3
module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @main(%x: tensor<1x16x14x14xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<200x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x200x12x12xf32, #graph.layout<[0, 2, 3, 1]>> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x14x14xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<200x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x200x12x12xf32, #graph.layout<[0, 2, 3, 1]>>
    return %0 : tensor<1x200x12x12xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

//--- other.mlir
// Transformed weights are not what another op reads.
// OTHER: error: {{.*}} has windows transformed by Winograd's method, but is not such a contraction
plan.kernel @relu(%w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<16x16x3x3xf32> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<16x16x3x3xf32>
  graph.yield %0 : tensor<16x16x3x3xf32>
}

//--- run-time.mlir
// RUN-TIME: error: {{.*}} would transform windows by Winograd's method when run
plan.kernel @relayout(%w: tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>> attributes {symbols = []} {
  %0 = graph.relayout %w : (tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
  graph.yield %0 : tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
}

//--- layout.mlir
// LAYOUT: error: a tile is 2 or 4, with two dims as windows beside the blocked one and none grouped
func.func @main(%w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 3, windows = [2, 3]>>) { return }
