// Code of a 3x3 convolution with Winograd weights: it transforms image tiles into scratch memory,
// multiplies them by the weights, and transforms the results back.
// RUN: split-file %s %t
// RUN: hewn-opt %t/conv.mlir --hewn-decide-fusion --hewn-form-fusion-groups --hewn-outline-kernels --hewn-assign-schedules --hewn-insert-scratch | FileCheck %s --check-prefix=KERNEL
// RUN: hewn-opt %t/conv.mlir --hewn-decide-fusion --hewn-form-fusion-groups --hewn-outline-kernels --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=LOOPS --implicit-check-not=memref.prefetch
// RUN: sed 's/l2Bytes = 1048576/l2Bytes = 8192/' %t/conv.mlir | hewn-opt --hewn-decide-fusion --hewn-form-fusion-groups --hewn-outline-kernels --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=AHEAD
// RUN: hewn-opt %t/hand.mlir --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=HAND
// RUN: hewn-opt %t/few.mlir --hewn-decide-fusion --hewn-form-fusion-groups --hewn-outline-kernels --hewn-assign-schedules --hewn-insert-scratch | FileCheck %s --check-prefix=FEW
// RUN: hewn-opt %t/few.mlir --hewn-decide-fusion --hewn-form-fusion-groups --hewn-outline-kernels --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels --canonicalize --cse | FileCheck %s --check-prefix=SHARED
// RUN: not hewn-opt %t/other.mlir --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not hewn-opt %t/run-time.mlir --hewn-assign-schedules --hewn-insert-scratch --hewn-lower-kernels 2>&1 | FileCheck %s --check-prefix=RUN-TIME
// RUN: not hewn-opt %t/layout.mlir 2>&1 | FileCheck %s --check-prefix=LAYOUT

//--- conv.mlir
// The kernel folds the padding and gets scratch memory for its tiles.
// KERNEL: plan.kernel @pad_conv_relu
// KERNEL-SAME: -> (tensor<1x10240xf32>, tensor<1x16x8x8xf32, #{{.*}}>)
// KERNEL-SAME: schedule = #plan.winograd<block = 20, m = 10, n = 16, lanes = 16, stride = 16, slots = 1>
// KERNEL-SAME: Winograd convolution, tile size 2
// KERNEL: graph.scratch {{.*}}shape = [1, 10240]
// KERNEL: plan.launch @pad_conv_relu({{.*}} -> (tensor<1x10240xf32>, tensor<1x16x8x8xf32, #{{.*}}>)

// A transformed image tile has 16 positions, each with 8 or 16 lanes of channels. Loads of
// positions outside of the image are masked.
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

// The kernel prefetches Winograd weights that exceed the L2 cache one tile position ahead. At the
// last position of a panel, it prefetches the first position of the next panel.
// AHEAD: scf.for {{.*}} -> (vector<16xf32>
// AHEAD: memref.prefetch
// AHEAD: vector.fma
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @main(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>> {
    %0 = graph.pad %x {high = [0, 0, 1, 1], low = [0, 0, 1, 1]} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x16x10x10xf32, #graph.layout<[0, 2, 3, 1]>>
    %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x10x10xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
    %2 = graph.relu %1 : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
    return %2 : tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

//--- hand.mlir
// A hand-written schedule: blocks of four tiles in two slots, GEMM tiles of two rows by one vector.
// HAND-LABEL: func.func @hand
// HAND-SAME: plan.launch_info = #plan.tasks<count = 2,
// HAND: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
// HAND-COUNT-2: vector.fma
// HAND-NOT: vector.fma
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  plan.kernel @hand(%x: tensor<1x16x50x50xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x48x48xf32, #graph.layout<[0, 2, 3, 1]>>
      attributes {symbols = [], schedule = #plan.winograd<block = 4, m = 2, n = 16, lanes = 16, stride = 16, slots = 2>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x50x50xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x48x48xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x48x48xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

//--- few.mlir
// One block of tiles: three threads may share its three full and one partial panels of columns.
// Each thread transforms the operand.
// FEW: schedule = #plan.winograd<block = {{.*}}, n = 64, lanes = 16, stride = 16, slots = 3>
// FEW: graph.scratch {{.*}}shape = [3, 
// SHARED-LABEL: func.func @conv
// SHARED-SAME: %[[BEGIN:[^:]*]]: index, %[[END:[^:]*]]: index)
// SHARED-SAME: plan.launch_info = #plan.tasks<count = 3,
// SHARED: arith.muli %[[BEGIN]],
// SHARED: %[[TO:.*]] = arith.minsi %[[END]], %c3
// SHARED: arith.subi %[[TO]], %[[BEGIN]]
// SHARED: arith.cmpi eq, %[[END]], %c3
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @main(%x: tensor<1x16x14x14xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<200x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x200x12x12xf32, #graph.layout<[0, 2, 3, 1]>> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x14x14xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<200x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x200x12x12xf32, #graph.layout<[0, 2, 3, 1]>>
    return %0 : tensor<1x200x12x12xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

//--- other.mlir
// Only convolutions can read weights in the Winograd layout, so that any other op that reads them
// is an error.
// OTHER: error: {{.*}} has Winograd-transformed weights, but is not a Winograd convolution
plan.kernel @relu(%w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<16x16x3x3xf32> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<16x16x3x3xf32>
  graph.yield %0 : tensor<16x16x3x3xf32>
}

//--- run-time.mlir
// RUN-TIME: error: {{.*}} would apply the Winograd weight transform at run time
plan.kernel @relayout(%w: tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>> attributes {symbols = []} {
  %0 = graph.relayout %w : (tensor<16x16x3x3xf32>) -> tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
  graph.yield %0 : tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
}

//--- layout.mlir
// LAYOUT: error: tile must be 2 or 4, with two window dims other than blockDim and no groupDim
func.func @main(%w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 3, windows = [2, 3]>>) { return }
