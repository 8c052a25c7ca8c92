// RUN: hewn-opt %s --split-input-file --hewn-legalize-matmul-types=largest-tile=2 | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: hewn-opt %s --split-input-file --hewn-legalize-matmul-types=largest-tile=4 | FileCheck %s --check-prefixes=CHECK,FOUR

#pairs = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, dots = [#plan.dot_product<left = i16, right = i16, sum = i32, intrinsic = "llvm.some.dot", accumulates = false>]>

// Conversions of the operand come before padding that the contraction folds, so that the padding
// stays next to the contraction.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[X:.*]] = graph.cast %arg0 {to = i16}
// CHECK: %[[P:.*]] = graph.pad %[[X]] {{.*}} -> tensor<1x16x6x6xi16>
// CHECK: %[[W:.*]] = graph.cast %{{.*}} {to = i16}
// CHECK: graph.conv %[[P]], %[[W]] {{.*}} to = i32
module attributes {plan.target = #pairs} {
  func.func @pairs(%x: tensor<1x16x4x4xui8>) -> tensor<1x32x4x4xi32> {
    %w = graph.constant {value = dense<1> : tensor<32x16x3x3xi8>} : tensor<32x16x3x3xi8>
    %0 = graph.pad %x {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x16x4x4xui8>) -> tensor<1x16x6x6xui8>
    %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, to = i32} : (tensor<1x16x6x6xui8>, tensor<32x16x3x3xi8>) -> tensor<1x32x4x4xi32>
    return %1 : tensor<1x32x4x4xi32>
  }
}

// -----

// On a target without dot-product instructions, the pass extends the operands of an integer matmul
// to i32.
// CHECK-LABEL: func.func @none
// CHECK: graph.matmul {{.*}} : (tensor<6x64xi32>, tensor<64x32xi32>) -> tensor<6x32xi32>
func.func @none(%x: tensor<6x64xui8>) -> tensor<6x32xi32> {
  %w = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
  %0 = graph.matmul %x, %w {to = i32} : (tensor<6x64xui8>, tensor<64x32xi8>) -> tensor<6x32xi32>
  return %0 : tensor<6x32xi32>
}

// -----

#quads = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>

// The pass does not change operand types that the target supports, and float32.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: graph.cast
module attributes {plan.target = #quads} {
  func.func @alone(%x: tensor<6x64xui8>, %y: tensor<6x64xf32>, %v: tensor<64x32xf32>) -> (tensor<6x32xi32>, tensor<6x32xf32>) {
    %w = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
    %0 = graph.matmul %x, %w {to = i32} : (tensor<6x64xui8>, tensor<64x32xi8>) -> tensor<6x32xi32>
    %1 = graph.matmul %y, %v : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
    return %0, %1 : tensor<6x32xi32>, tensor<6x32xf32>
  }
}

// -----

// Byte matmuls with enough rows use MMA on a GPU; skinny ones do not.
// CHECK-LABEL: func.func @matrices
// CHECK: graph.matmul {{.*}} : (tensor<64x64xui8>, tensor<64x32xi8>) -> tensor<64x32xi32>
// CHECK: graph.matmul {{.*}} : (tensor<6x64xi32>, tensor<64x32xi32>) -> tensor<6x32xi32>
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @matrices(%x: tensor<64x64xui8>, %y: tensor<6x64xui8>) -> (tensor<64x32xi32>, tensor<6x32xi32>) {
    %w = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
    %0 = graph.matmul %x, %w {to = i32} : (tensor<64x64xui8>, tensor<64x32xi8>) -> tensor<64x32xi32>
    %1 = graph.matmul %y, %w {to = i32} : (tensor<6x64xui8>, tensor<64x32xi8>) -> tensor<6x32xi32>
    return %0, %1 : tensor<64x32xi32>, tensor<6x32xi32>
  }
}

// -----

// 16-bit floats accumulate in float32 and round once; the next contraction uses the unrounded
// result.
// CHECK-LABEL: func.func @halves
// CHECK: %[[X:.*]] = graph.cast %arg0 {to = f32}
// CHECK: %[[V:.*]] = graph.cast %arg1 {to = f32}
// CHECK: %[[S:.*]] = graph.matmul %[[X]], %[[V]] {to = f32} : {{.*}} -> tensor<6x32xf32>
// CHECK: %[[R:.*]] = graph.cast %[[S]] {to = f16}
// CHECK: %[[W:.*]] = graph.cast %arg2 {to = f32}
// CHECK: %[[T:.*]] = graph.matmul %[[S]], %[[W]] {to = f32}
// CHECK: %[[Y:.*]] = graph.cast %[[T]] {to = f16}
// CHECK: return %[[R]], %[[Y]]
func.func @halves(%x: tensor<6x64xf16>, %v: tensor<64x32xf16>, %w: tensor<32x8xf16>) -> (tensor<6x32xf16>, tensor<6x8xf16>) {
  %0 = graph.matmul %x, %v : (tensor<6x64xf16>, tensor<64x32xf16>) -> tensor<6x32xf16>
  %1 = graph.matmul %0, %w : (tensor<6x32xf16>, tensor<32x8xf16>) -> tensor<6x8xf16>
  return %0, %1 : tensor<6x32xf16>, tensor<6x8xf16>
}

// -----

#dots = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// Pairwise bfloat16 dot products for an even K, and for computed operands with enough rows to pay
// for packing.
// CHECK-LABEL: func.func @products_of_pairs
// CHECK: graph.matmul %arg0, %arg1 {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<64x63xf32>, tensor<63x32xf32>) -> tensor<64x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
module attributes {plan.target = #dots} {
  func.func @products_of_pairs(%x: tensor<64x64xbf16>, %v: tensor<64x32xbf16>, %y: tensor<64x63xbf16>, %w: tensor<63x32xbf16>, %z: tensor<6x64xbf16>) -> (tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<6x32xbf16>) {
    %0 = graph.matmul %x, %v : (tensor<64x64xbf16>, tensor<64x32xbf16>) -> tensor<64x32xbf16>
    %1 = graph.matmul %y, %w : (tensor<64x63xbf16>, tensor<63x32xbf16>) -> tensor<64x32xbf16>
    %2 = graph.matmul %z, %v : (tensor<6x64xbf16>, tensor<64x32xbf16>) -> tensor<6x32xbf16>
    return %0, %1, %2 : tensor<64x32xbf16>, tensor<64x32xbf16>, tensor<6x32xbf16>
  }
}

// -----

#dots = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// The pass packs constant weights that a Cast rounds to bfloat16 in pairs at compile time, for any
// number of rows.
// CHECK-LABEL: func.func @rounded_weights
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<6x64xbf16>, tensor<64x32xbf16>) -> tensor<6x32xf32>
// CHECK: graph.matmul {{.*}} to = f32} : (tensor<?x64xbf16>, tensor<64x32xbf16>) -> tensor<?x32xf32>
// CHECK: graph.conv {{.*}} to = f32} : (tensor<1x64x2x2xbf16>, tensor<32x64x1x1xbf16>) -> tensor<1x32x2x2xf32>
module attributes {plan.target = #dots} {
  func.func @rounded_weights(%x: tensor<6x64xbf16>, %y: tensor<?x64xbf16> {graph.dims = [#graph.dim<"n">, 64]}, %z: tensor<1x64x2x2xbf16>) -> (tensor<6x32xbf16>, tensor<?x32xbf16>, tensor<1x32x2x2xbf16>) {
    %c = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %w = graph.cast %c {to = bf16} : (tensor<64x32xf32>) -> tensor<64x32xbf16>
    %d = graph.constant {value = dense<1.0> : tensor<32x64x1x1xf32>} : tensor<32x64x1x1xf32>
    %v = graph.cast %d {to = bf16} : (tensor<32x64x1x1xf32>) -> tensor<32x64x1x1xbf16>
    %0 = graph.matmul %x, %w : (tensor<6x64xbf16>, tensor<64x32xbf16>) -> tensor<6x32xbf16>
    %1 = graph.matmul %y, %w {graph.dims = [[#graph.dim<"n">, 32]]} : (tensor<?x64xbf16>, tensor<64x32xbf16>) -> tensor<?x32xbf16>
    %2 = graph.conv %z, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x2x2xbf16>, tensor<32x64x1x1xbf16>) -> tensor<1x32x2x2xbf16>
    return %0, %1, %2 : tensor<6x32xbf16>, tensor<?x32xbf16>, tensor<1x32x2x2xbf16>
  }
}

// -----

#wide = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasHalfConversions = true>

// 16-bit constants keep their type, and the GEMM kernel extends them when it loads them. The pass
// extends computed operands before the contraction.
// CHECK-LABEL: func.func @weights
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<1x64xf32>, tensor<64x32xf16>) -> tensor<1x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<8x64xf32>, tensor<64x32xf16>) -> tensor<8x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<8x64xf32>, tensor<64x32xbf16>) -> tensor<8x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
module attributes {plan.target = #wide} {
  func.func @weights(%x: tensor<1x64xf16>, %y: tensor<8x64xf16>, %z: tensor<8x64xbf16>, %u: tensor<64x32xf16>) -> (tensor<1x32xf16>, tensor<8x32xf16>, tensor<8x32xbf16>, tensor<8x32xf16>) {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf16>} : tensor<64x32xf16>
    %v = graph.constant {value = dense<1.0> : tensor<64x32xbf16>} : tensor<64x32xbf16>
    %0 = graph.matmul %x, %w : (tensor<1x64xf16>, tensor<64x32xf16>) -> tensor<1x32xf16>
    %1 = graph.matmul %y, %w : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
    %2 = graph.matmul %z, %v : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
    %3 = graph.matmul %y, %u : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
    return %0, %1, %2, %3 : tensor<1x32xf16>, tensor<8x32xf16>, tensor<8x32xbf16>, tensor<8x32xf16>
  }
}

// -----

#wide = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, hasHalfConversions = true>

// A GEMM with many rows uses the float32 copy of 16-bit weights that another target of the library
// needs.
// CHECK-LABEL: func.func @shared
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<1x64xf32>, tensor<64x32xf16>) -> tensor<1x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
module attributes {plan.target = #wide, plan.packing_lanes = 16 : i64, plan.shares_floats} {
  func.func @shared(%x: tensor<1x64xf16>, %y: tensor<8x64xf16>) -> (tensor<1x32xf16>, tensor<8x32xf16>) {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf16>} : tensor<64x32xf16>
    %0 = graph.matmul %x, %w : (tensor<1x64xf16>, tensor<64x32xf16>) -> tensor<1x32xf16>
    %1 = graph.matmul %y, %w : (tensor<8x64xf16>, tensor<64x32xf16>) -> tensor<8x32xf16>
    return %0, %1 : tensor<1x32xf16>, tensor<8x32xf16>
  }
}

// -----

#short = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>

// Not without an extension instruction, whatever the vector length is; bfloat16, which takes two
// instructions to extend, is kept for few rows.
// CHECK-LABEL: func.func @weights_without_conversion
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<1x64xf32>, tensor<64x32xbf16>) -> tensor<1x32xf32>
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
module attributes {plan.target = #short} {
  func.func @weights_without_conversion(%x: tensor<1x64xf16>, %y: tensor<1x64xbf16>, %z: tensor<8x64xbf16>) -> (tensor<1x32xf16>, tensor<1x32xbf16>, tensor<8x32xbf16>) {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf16>} : tensor<64x32xf16>
    %v = graph.constant {value = dense<1.0> : tensor<64x32xbf16>} : tensor<64x32xbf16>
    %0 = graph.matmul %x, %w : (tensor<1x64xf16>, tensor<64x32xf16>) -> tensor<1x32xf16>
    %1 = graph.matmul %y, %v : (tensor<1x64xbf16>, tensor<64x32xbf16>) -> tensor<1x32xbf16>
    %2 = graph.matmul %z, %v : (tensor<8x64xbf16>, tensor<64x32xbf16>) -> tensor<8x32xbf16>
    return %0, %1, %2 : tensor<1x32xf16>, tensor<1x32xbf16>, tensor<8x32xbf16>
  }
}

// -----

#windows = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, hasHalfConversions = true>

// Winograd weights are stored as float16, also those given as bfloat16. They are float32 if values
// leave float16's range, if a bfloat16 constant is small relative to float16's resolution, and for
// larger tiles.
// CHECK-LABEL: func.func @windows
// CHECK-DAG: %[[H:.*]] = graph.constant {value = dense<1.0{{.*}} : tensor<64x64x3x3xf16>
// CHECK-DAG: %[[L:.*]] = graph.constant {value = dense<3.2{{.*}} : tensor<64x64x3x3xf16>
// CHECK-DAG: %[[B:.*]] = graph.constant {value = dense<1.0{{.*}} : tensor<64x64x3x3xbf16>
// CHECK-DAG: %[[S:.*]] = graph.constant {value = dense<9.{{.*}} : tensor<64x64x3x3xbf16>
// TWO: graph.conv %{{.*}}, %[[H]] {
// FOUR: %[[W:.*]] = graph.cast %[[H]] {to = f32}
// FOUR: graph.conv %{{.*}}, %[[W]] {
// CHECK: %[[LW:.*]] = graph.cast %[[L]] {to = f32}
// CHECK: graph.conv %{{.*}}, %[[LW]] {
// TWO: %[[BH:.*]] = graph.cast %[[B]] {to = f16}
// FOUR: %[[BH:.*]] = graph.cast %[[B]] {to = f32}
// CHECK: graph.conv %{{.*}}, %[[BH]] {
// CHECK: %[[SW:.*]] = graph.cast %[[S]] {to = f32}
// CHECK: graph.conv %{{.*}}, %[[SW]] {
module attributes {plan.target = #windows} {
  func.func @windows(%x: tensor<1x64x58x58xf16>, %y: tensor<1x64x58x58xbf16>) -> (tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>, tensor<1x64x56x56xbf16>, tensor<1x64x56x56xbf16>) {
    %h = graph.constant {value = dense<1.0> : tensor<64x64x3x3xf16>} : tensor<64x64x3x3xf16>
    %l = graph.constant {value = dense<3.2e4> : tensor<64x64x3x3xf16>} : tensor<64x64x3x3xf16>
    %b = graph.constant {value = dense<1.0> : tensor<64x64x3x3xbf16>} : tensor<64x64x3x3xbf16>
    %s = graph.constant {value = dense<9.0e-4> : tensor<64x64x3x3xbf16>} : tensor<64x64x3x3xbf16>
    %0 = graph.conv %x, %h {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    %1 = graph.conv %x, %l {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf16>, tensor<64x64x3x3xf16>) -> tensor<1x64x56x56xf16>
    %2 = graph.conv %y, %b {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xbf16>, tensor<64x64x3x3xbf16>) -> tensor<1x64x56x56xbf16>
    %3 = graph.conv %y, %s {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xbf16>, tensor<64x64x3x3xbf16>) -> tensor<1x64x56x56xbf16>
    return %0, %1, %2, %3 : tensor<1x64x56x56xf16>, tensor<1x64x56x56xf16>, tensor<1x64x56x56xbf16>, tensor<1x64x56x56xbf16>
  }
}

// -----

#windows = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, hasHalfConversions = true>

// 8-bit integer constants that floats are multiplied by: unchanged; as float16 for Winograd with
// tiles of 2; unchanged in any case if they are to be kept. Depthwise weights become float32.
// CHECK-LABEL: func.func @bytes
// CHECK-DAG: %[[W:.*]] = graph.constant {{.*}} : tensor<64x64x3x3xi8>
// CHECK-DAG: %[[L:.*]] = graph.constant {{.*}} : tensor<64x64x5x5xi8>
// TWO: %[[H:.*]] = graph.cast %[[W]] {to = f16}
// FOUR: %[[H:.*]] = graph.cast %[[W]] {to = f32}
// CHECK: graph.conv %arg0, %[[H]] {
// CHECK: graph.conv %arg0, %[[L]] {
// CHECK: graph.conv %arg0, %[[W]] {
// CHECK: %[[D:.*]] = graph.cast %{{.*}} {to = f32} : (tensor<64x1x5x5xi8>)
// CHECK: graph.conv %arg0, %[[D]] {
module attributes {plan.target = #windows} {
  func.func @bytes(%x: tensor<1x64x58x58xf32>) -> (tensor<1x64x56x56xf32>, tensor<1x64x54x54xf32>, tensor<1x64x56x56xf32>, tensor<1x64x54x54xf32>) {
    %w = graph.constant {value = dense<1> : tensor<64x64x3x3xi8>} : tensor<64x64x3x3xi8>
    %l = graph.constant {value = dense<1> : tensor<64x64x5x5xi8>} : tensor<64x64x5x5xi8>
    %d = graph.constant {value = dense<1> : tensor<64x1x5x5xi8>} : tensor<64x1x5x5xi8>
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, to = f32} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xi8>) -> tensor<1x64x56x56xf32>
    %1 = graph.conv %x, %l {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, to = f32} : (tensor<1x64x58x58xf32>, tensor<64x64x5x5xi8>) -> tensor<1x64x54x54xf32>
    %2 = graph.conv %x, %w {dilations = array<i64: 1, 1>, graph.keeps_weights, groups = 1 : i64, strides = array<i64: 1, 1>, to = f32} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xi8>) -> tensor<1x64x56x56xf32>
    %3 = graph.conv %x, %d {dilations = array<i64: 1, 1>, groups = 64 : i64, strides = array<i64: 1, 1>, to = f32} : (tensor<1x64x58x58xf32>, tensor<64x1x5x5xi8>) -> tensor<1x64x54x54xf32>
    return %0, %1, %2, %3 : tensor<1x64x56x56xf32>, tensor<1x64x54x54xf32>, tensor<1x64x56x56xf32>, tensor<1x64x54x54xf32>
  }
}
