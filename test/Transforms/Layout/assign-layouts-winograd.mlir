// 3x3 weights get the Winograd layout where the precision allows it and the cost model prefers it.
// RUN: hewn-opt %s --split-input-file --hewn-assign-layouts=largest-tile=2 --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: hewn-opt %s --split-input-file --hewn-assign-layouts=largest-tile=4 --mlir-print-local-scope | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: hewn-opt %s --split-input-file --hewn-assign-layouts --mlir-print-local-scope | FileCheck %s --check-prefix=NEVER

// In the Winograd layout of weights, the window positions are outermost, followed by panels of
// columns and by channels.
// CHECK-LABEL: func.func @wins
// TWO: graph.relayout {{.*}} -> tensor<64x64x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = {{[0-9]+}} tile = 2, windows = [2, 3]>>
// FOUR: graph.relayout {{.*}} -> tensor<64x64x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = {{[0-9]+}} tile = 4, windows = [2, 3]>>
// NEVER-NOT: tile =
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @wins(%x: tensor<1x64x58x58xf32>) -> tensor<1x64x56x56xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x64x3x3xf32>} : tensor<64x64x3x3xf32>
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
    return %0 : tensor<1x64x56x56xf32>
  }
}

// -----

// float16 weights get the Winograd layout only with tiles of 2: larger tiles would need more
// significand bits.
// CHECK-LABEL: func.func @halves
// CHECK: graph.relayout {{.*}} -> tensor<64x64x3x3xf16, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = {{[0-9]+}} tile = 2, windows = [2, 3]>>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @halves(%x: tensor<1x64x58x58xf32>) -> tensor<1x64x56x56xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x64x3x3xf16>} : tensor<64x64x3x3xf16>
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, to = f32} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf32>
    return %0 : tensor<1x64x56x56xf32>
  }
}

// -----

// Not in the Winograd layout: convolutions with strides, dilations, groups, another window size,
// computed weights, or three channels.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: tile =
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>} {
  func.func @left_alone(%x: tensor<1x64x58x58xf32>, %v: tensor<64x64x3x3xf32>, %y: tensor<1x3x58x58xf32>) -> (tensor<1x64x28x28xf32>, tensor<1x64x54x54xf32>, tensor<1x64x56x56xf32>, tensor<1x64x54x54xf32>, tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>) {
    %w = graph.constant {value = dense<1.0> : tensor<64x64x3x3xf32>} : tensor<64x64x3x3xf32>
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 2, 2>} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x28x28xf32>
    %1 = graph.conv %x, %w {dilations = array<i64: 2, 2>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x54x54xf32>
    %g = graph.constant {value = dense<1.0> : tensor<64x32x3x3xf32>} : tensor<64x32x3x3xf32>
    %2 = graph.conv %x, %g {dilations = array<i64: 1, 1>, groups = 2 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x56x56xf32>
    %f = graph.constant {value = dense<1.0> : tensor<64x64x5x5xf32>} : tensor<64x64x5x5xf32>
    %3 = graph.conv %x, %f {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x64x5x5xf32>) -> tensor<1x64x54x54xf32>
    %4 = graph.conv %x, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
    %c = graph.constant {value = dense<1.0> : tensor<64x3x3x3xf32>} : tensor<64x3x3x3xf32>
    %5 = graph.conv %y, %c {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x58x58xf32>, tensor<64x3x3x3xf32>) -> tensor<1x64x56x56xf32>
    return %0, %1, %2, %3, %4, %5 : tensor<1x64x28x28xf32>, tensor<1x64x54x54xf32>, tensor<1x64x56x56xf32>, tensor<1x64x54x54xf32>, tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>
  }
}
