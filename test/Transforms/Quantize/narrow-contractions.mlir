// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions=products=3 | FileCheck %s --check-prefix=THREE

#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// CHECK-LABEL: func.func @product
// CHECK: %[[W:.*]] = graph.constant
// CHECK: %[[XB:.*]] = graph.cast %arg0 {to = bf16}
// CHECK: %[[WB:.*]] = graph.cast %[[W]] {to = bf16}
// CHECK: graph.matmul %[[XB]], %[[WB]] {to = f32} : (tensor<6x64xbf16>, tensor<64x32xbf16>) -> tensor<6x32xf32>
module attributes {plan.target = #fast} {
  func.func @product(%x: tensor<6x64xf32>) -> tensor<6x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
    return %0 : tensor<6x32xf32>
  }
}

// -----

#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// A border of zeros stays next to the contraction.
// CHECK-LABEL: func.func @border
// CHECK: %[[XB:.*]] = graph.cast %arg0 {to = bf16}
// CHECK: %[[P:.*]] = graph.pad %[[XB]] {{.*}} -> tensor<1x16x6x6xbf16>
// CHECK: graph.conv %[[P]], %{{.*}} to = f32
module attributes {plan.target = #fast} {
  func.func @border(%x: tensor<1x16x4x4xf32>) -> tensor<1x32x4x4xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<32x16x3x3xf32>} : tensor<32x16x3x3xf32>
    %0 = graph.pad %x {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x16x4x4xf32>) -> tensor<1x16x6x6xf32>
    %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x6x6xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x4x4xf32>
    return %1 : tensor<1x32x4x4xf32>
  }
}

// -----

#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// A computed right operand that many rows read: both products of attention.
// CHECK-LABEL: func.func @computed
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<4x128x64xbf16>, tensor<4x64x96xbf16>) -> tensor<4x128x96xf32>
module attributes {plan.target = #fast} {
  func.func @computed(%q: tensor<4x128x64xf32>, %k: tensor<4x64x96xf32>) -> tensor<4x128x96xf32> {
    %0 = graph.matmul %q, %k : (tensor<4x128x64xf32>, tensor<4x64x96xf32>) -> tensor<4x128x96xf32>
    return %0 : tensor<4x128x96xf32>
  }
}

// -----

#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// Left alone: a window of many channels, which minimal filtering of float32 does in less time.
// CHECK-LABEL: func.func @window
// CHECK-NOT: to = bf16
module attributes {plan.target = #fast} {
  func.func @window(%x: tensor<1x128x58x58xf32>) -> tensor<1x128x56x56xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<128x128x3x3xf32>} : tensor<128x128x3x3xf32>
    %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x128x58x58xf32>, tensor<128x128x3x3xf32>) -> tensor<1x128x56x56xf32>
    return %0 : tensor<1x128x56x56xf32>
  }
}

// -----

#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// Left alone: a sum over an odd dim, and a right operand that is computed for a few rows.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: to = bf16
module attributes {plan.target = #fast} {
  func.func @alone(%x: tensor<6x65xf32>, %y: tensor<6x64xf32>, %v: tensor<64x32xf32>) -> (tensor<6x32xf32>, tensor<6x32xf32>) {
    %w = graph.constant {value = dense<1.0> : tensor<65x32xf32>} : tensor<65x32xf32>
    %0 = graph.matmul %x, %w : (tensor<6x65xf32>, tensor<65x32xf32>) -> tensor<6x32xf32>
    %1 = graph.matmul %y, %v : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
    return %0, %1 : tensor<6x32xf32>, tensor<6x32xf32>
  }
}

// -----

// Left alone: a machine without such products.
// CHECK-LABEL: func.func @machine
// CHECK-NOT: to = bf16
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  func.func @machine(%x: tensor<6x64xf32>) -> tensor<6x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
    return %0 : tensor<6x32xf32>
  }
}

// -----

#unit = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product">]>

// A matrix unit takes what fills its tiles; by three products, the first and second terms side by side along the depth.
// CHECK-LABEL: func.func @unit
// CHECK: graph.matmul {{.*}} : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xf32>
// CHECK: graph.matmul {{.*}} : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
// THREE-LABEL: func.func @unit
// THREE: %[[X1:.*]] = graph.cast %{{.*}} {to = bf16}
// THREE: %[[XF:.*]] = graph.cast %[[X1]] {to = f32}
// THREE: %[[XC:.*]] = graph.cast %{{.*}} {to = bf16}
// THREE: graph.sub %arg0, %[[XF]]
// THREE: %[[X2:.*]] = graph.cast %{{.*}} {to = bf16}
// THREE: %[[L:.*]] = graph.concat %[[X1]], %[[XC]], %[[X2]] {{.*}} -> tensor<32x192xbf16>
// THREE: %[[R:.*]] = graph.concat {{.*}} -> tensor<192x32xbf16>
// THREE: graph.matmul %[[L]], %[[R]] {to = f32}
module attributes {plan.target = #unit} {
  func.func @unit(%x: tensor<32x64xf32>, %y: tensor<2x64xf32>) -> (tensor<32x32xf32>, tensor<2x32xf32>) {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
    %1 = graph.matmul %y, %w : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
    return %0, %1 : tensor<32x32xf32>, tensor<2x32xf32>
  }
}

// -----

#grid = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912, products = 1>>

// Warps take more than one term of float32 themselves.
// CHECK-LABEL: func.func @grid
// CHECK: graph.matmul {{.*}} : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xf32>
// THREE-LABEL: func.func @grid
// THREE: graph.matmul {{.*}} : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
module attributes {plan.target = #grid} {
  func.func @grid(%x: tensor<32x64xf32>) -> tensor<32x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
    return %0 : tensor<32x32xf32>
  }

  // Few rows have no work for matrix instructions: what they wait for is narrow, what is computed stays as it is.
  // CHECK-LABEL: func.func @few_rows
  // CHECK: graph.matmul {{.*}} : (tensor<2x64xf32>, tensor<64x32xbf16>) -> tensor<2x32xf32>
  // THREE-LABEL: func.func @few_rows
  // THREE: graph.matmul {{.*}} : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
  func.func @few_rows(%x: tensor<2x64xf32>) -> tensor<2x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<2x64xf32>, tensor<64x32xf32>) -> tensor<2x32xf32>
    return %0 : tensor<2x32xf32>
  }
}
