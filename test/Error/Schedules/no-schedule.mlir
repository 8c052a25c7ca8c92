// Kernels without a schedule, or without their scratch memory.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-kernels

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@undecided has no schedule: run hewn-assign-schedules first}}
  plan.kernel @undecided(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = []} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@memory has a schedule that needs scratch memory of [1, 8192] float32s, but the kernel does not have it}}
  plan.kernel @memory(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 16, slots = 1>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@bytes has a schedule that needs scratch memory of [1, 8192] float32s, but the kernel does not have it}}
  plan.kernel @bytes(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> (tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<1x8192xi8>) attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 16, slots = 1>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    %m = graph.scratch {shape = [1, 8192], of = i8} : () -> tensor<1x8192xi8>
    graph.yield %0, %m : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<1x8192xi8>
  }
}
