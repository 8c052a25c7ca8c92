// Schedules that are none for the machine. The kernel is named.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-kernels

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@part has a schedule of 2 rows by 12 columns: n must be a multiple of 8, and there may be 1024 accumulators of so many at most}}
  plan.kernel @part(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.schedule<m = 2, n = 12>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@huge has a schedule of 1048576 rows by 1048576 columns}}
  plan.kernel @huge(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.schedule<m = 1048576, n = 1048576>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

// Weights are transformed when compiling.
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{would transform windows by Winograd's method when run, which is done to constants alone}}
plan.kernel @windows(%w: tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>> attributes {symbols = []} {
  %0 = graph.relayout %w : (tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
  graph.yield %0 : tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
}
}
