// Which 1x1 convolutions become NCHW matmuls, vectorized along the pixels: those in regions where
// NCHW is cheaper, including layout conversions.
// RUN: hewn-opt %s --split-input-file --hewn-pointwise-conv-to-matmul | FileCheck %s

#machine = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608>
// The results of two 1x1 convolutions are interleaved. With columns innermost (NHWC), the kernel
// would store the interleaved elements one by one; with image rows innermost (NCHW), it does not.
// CHECK-LABEL: func.func @neighbours
// CHECK-COUNT-2: graph.conv
// CHECK-LABEL: func.func @lines_between
// CHECK-COUNT-2: graph.matmul
// The convolution is between an input and an output, which are NCHW.
// CHECK-LABEL: func.func @alone
// CHECK-SAME: %[[X:.*]]: tensor<2x16x7x9xf32>, %[[W:.*]]: tensor<24x16x1x1xf32>)
// CHECK-DAG: %[[P:.*]] = graph.reshape %[[X]] {{.*}} -> tensor<2x16x63xf32>
// CHECK-DAG: %[[M:.*]] = graph.reshape %[[W]] {{.*}} -> tensor<24x16xf32>
// CHECK: %[[Y:.*]] = graph.matmul %[[M]], %[[P]] : (tensor<24x16xf32>, tensor<2x16x63xf32>) -> tensor<2x24x63xf32>
// CHECK: graph.reshape %[[Y]] {{.*}} -> tensor<2x24x7x9xf32>
// Several 1x1 convolutions become matmuls, with layout-preserving ops between them.
// CHECK-LABEL: func.func @several
// CHECK-COUNT-2: graph.matmul
// CHECK-NOT: graph.conv
// Left alone: a larger convolution before or after needs NHWC, and NCHW would need more
// conversions.
// CHECK-LABEL: func.func @window
// CHECK: graph.conv
// CHECK: graph.conv
// A 1x1 convolution becomes a matmul after a small convolution at the boundary of a region in which
// no other op needs NHWC.
// CHECK-LABEL: func.func @small_window
// CHECK: graph.conv {{.*}} strides = array<i64: 1, 1>
// CHECK: graph.matmul
// Not rewritten: strides, dynamic sizes, an image of one pixel, operands that are contiguous along
// K, groups, and integers.
// CHECK-LABEL: func.func @strided
// CHECK: graph.conv
// CHECK-LABEL: func.func @sizes
// CHECK: graph.conv
// CHECK-LABEL: func.func @one_pixel
// CHECK: graph.conv
// CHECK-LABEL: func.func @lines
// CHECK: graph.matmul %{{.*}}, %{{.*}} : (tensor<100x16xf32>, tensor<16x24xf32>)
// CHECK-LABEL: func.func @groups
// CHECK: graph.conv
// CHECK-LABEL: func.func @integers
// CHECK: graph.conv
module attributes {plan.target = #machine} {
  func.func @neighbours(%x: tensor<1x64x28x28xf32>, %w: tensor<64x64x1x1xf32>, %v: tensor<64x64x1x1xf32>) -> tensor<1x64x28x56xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x28x28xf32>
    %1 = graph.conv %x, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x28x28xf32>
    %2 = graph.interleave %0, %1 {shape = [1, 64, 28, 56], steps = array<i64: 1, 1, 1, 2>} : (tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>) -> tensor<1x64x28x56xf32>
    return %2 : tensor<1x64x28x56xf32>
  }
  func.func @lines_between(%x: tensor<1x64x28x28xf32>, %w: tensor<64x64x1x1xf32>, %v: tensor<64x64x1x1xf32>) -> tensor<1x64x56x28xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x28x28xf32>
    %1 = graph.conv %x, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x28x28xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x28x28xf32>
    %2 = graph.interleave %0, %1 {shape = [1, 64, 56, 28], steps = array<i64: 1, 1, 2, 1>} : (tensor<1x64x28x28xf32>, tensor<1x64x28x28xf32>) -> tensor<1x64x56x28xf32>
    return %2 : tensor<1x64x56x28xf32>
  }
  func.func @alone(%x: tensor<2x16x7x9xf32>, %w: tensor<24x16x1x1xf32>) -> tensor<2x24x7x9xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x16x7x9xf32>, tensor<24x16x1x1xf32>) -> tensor<2x24x7x9xf32>
    return %0 : tensor<2x24x7x9xf32>
  }
  func.func @several(%x: tensor<2x16x7x9xf32>, %w: tensor<24x16x1x1xf32>, %v: tensor<16x24x1x1xf32>) -> tensor<2x16x7x9xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x16x7x9xf32>, tensor<24x16x1x1xf32>) -> tensor<2x24x7x9xf32>
    %1 = graph.relu %0 : (tensor<2x24x7x9xf32>) -> tensor<2x24x7x9xf32>
    %2 = graph.conv %1, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x24x7x9xf32>, tensor<16x24x1x1xf32>) -> tensor<2x16x7x9xf32>
    %3 = graph.add %2, %x : (tensor<2x16x7x9xf32>, tensor<2x16x7x9xf32>) -> tensor<2x16x7x9xf32>
    return %3 : tensor<2x16x7x9xf32>
  }
  func.func @window(%x: tensor<1x3x16x16xf32>, %w: tensor<32x3x3x3xf32>, %v: tensor<16x32x1x1xf32>) -> tensor<1x16x14x14xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x16x16xf32>, tensor<32x3x3x3xf32>) -> tensor<1x32x14x14xf32>
    %1 = graph.relu %0 : (tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32>
    %2 = graph.conv %1, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x32x14x14xf32>, tensor<16x32x1x1xf32>) -> tensor<1x16x14x14xf32>
    return %2 : tensor<1x16x14x14xf32>
  }
  func.func @small_window(%x: tensor<1x3x18x18xf32>, %w: tensor<4x3x3x3xf32>, %v: tensor<64x4x1x1xf32>) -> tensor<1x64x16x16xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x18x18xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x16x16xf32>
    %1 = graph.conv %0, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x4x16x16xf32>, tensor<64x4x1x1xf32>) -> tensor<1x64x16x16xf32>
    return %1 : tensor<1x64x16x16xf32>
  }
  func.func @strided(%x: tensor<1x16x8x8xf32>, %w: tensor<24x16x1x1xf32>) -> tensor<1x24x4x4xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 2, 2>} : (tensor<1x16x8x8xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x4x4xf32>
    return %0 : tensor<1x24x4x4xf32>
  }
  func.func @sizes(%x: tensor<1x16x?x8xf32> {graph.dims = [1, 16, #graph.dim<"h">, 8]}, %w: tensor<24x16x1x1xf32>) -> tensor<1x24x?x8xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>, graph.dims = [[1, 24, #graph.dim<"h">, 8]]} : (tensor<1x16x?x8xf32>, tensor<24x16x1x1xf32>) -> tensor<1x24x?x8xf32>
    return %0 : tensor<1x24x?x8xf32>
  }
  func.func @one_pixel(%x: tensor<2x16x1x1xf32>, %w: tensor<24x16x1x1xf32>) -> tensor<2x24x1x1xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x16x1x1xf32>, tensor<24x16x1x1xf32>) -> tensor<2x24x1x1xf32>
    return %0 : tensor<2x24x1x1xf32>
  }
  func.func @lines(%x: tensor<100x16xf32>, %w: tensor<16x24xf32>) -> tensor<100x24xf32> {
    %0 = graph.matmul %x, %w : (tensor<100x16xf32>, tensor<16x24xf32>) -> tensor<100x24xf32>
    return %0 : tensor<100x24xf32>
  }
  func.func @groups(%x: tensor<1x16x8x8xf32>, %w: tensor<24x8x1x1xf32>) -> tensor<1x24x8x8xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 2 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<24x8x1x1xf32>) -> tensor<1x24x8x8xf32>
    return %0 : tensor<1x24x8x8xf32>
  }
  func.func @integers(%x: tensor<1x16x8x8xi32>, %w: tensor<24x16x1x1xi32>) -> tensor<1x24x8x8xi32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xi32>, tensor<24x16x1x1xi32>) -> tensor<1x24x8x8xi32>
    return %0 : tensor<1x24x8x8xi32>
  }
}

// -----

// For a GPU, the pass rewrites no 1x1 convolution, because GPU threads read both layouts at the
// same cost.
// CHECK-LABEL: func.func @grid
// CHECK: graph.conv
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @grid(%x: tensor<2x16x7x9xf32>, %w: tensor<24x16x1x1xf32>) -> tensor<2x24x7x9xf32> {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<2x16x7x9xf32>, tensor<24x16x1x1xf32>) -> tensor<2x24x7x9xf32>
    return %0 : tensor<2x24x7x9xf32>
  }
}
