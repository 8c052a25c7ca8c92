// RUN: hewn-opt %s --split-input-file --hewn-lower-matmul-precision=precision=medium | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-lower-matmul-precision=precision=high | FileCheck %s --check-prefix=THREE
// RUN: hewn-opt %s --split-input-file --hewn-lower-matmul-precision=precision=highest | FileCheck %s --check-prefix=SIX

// Reasons why a matmul keeps its precision, each once.
// RUN: hewn-opt %s --split-input-file --hewn-lower-matmul-precision=precision=medium --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY-ONE
// WHY-ONE: NotNarrowed | {{.*}}Reason="Winograd in float32 is faster"
// WHY-ONE: NotNarrowed | {{.*}}Reason="packing the computed right operand in pairs at run time takes longer than it saves"
// WHY-ONE: NotNarrowed | {{.*}}Reason="float32 is as fast: the target's bfloat16 dot products are slow, and the FMAs take longer than loading the weights"
// WHY-ONE: NotNarrowed | {{.*}}Reason="it has too few rows or columns to fill a tile of the matrix unit"
// RUN: hewn-opt %s --split-input-file --hewn-lower-matmul-precision=precision=highest --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY-SIX
// WHY-SIX: NotNarrowed | {{.*}}Reason="split bfloat16 is not expected to be faster"
// WHY-SIX: NotNarrowed | {{.*}}Reason="the number of rows is dynamic, and may be too small for split bfloat16 to gain"
// WHY-SIX: NotNarrowed | {{.*}}Reason="the constant is not finite, or too small for bfloat16 components"
// WHY-SIX: NotNarrowed | {{.*}}Reason="several targets share the constant, which cannot be split into bfloat16 components for one of them"
// WHY-SIX: NotNarrowed | {{.*}}Reason="the right operand is computed, and only constants are split into bfloat16 components"

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// The conversion to bfloat16 comes before zero padding, which stays next to the contraction that
// folds it.
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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// The pass lowers the precision of both GEMMs of attention, which have a computed right operand and
// many rows.
// CHECK-LABEL: func.func @computed
// CHECK: graph.matmul {{.*}} {to = f32} : (tensor<4x128x64xbf16>, tensor<4x64x96xbf16>) -> tensor<4x128x96xf32>
module attributes {plan.target = #fast} {
  func.func @computed(%q: tensor<4x128x64xf32>, %k: tensor<4x64x96xf32>) -> tensor<4x128x96xf32> {
    %0 = graph.matmul %q, %k : (tensor<4x128x64xf32>, tensor<4x64x96xf32>) -> tensor<4x128x96xf32>
    return %0 : tensor<4x128x96xf32>
  }
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// Not lowered: a 3x3 convolution with many channels, for which Winograd in float32 is faster.
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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

// Not lowered: an odd K, and a computed right operand of a GEMM with a small number of rows.
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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200, widenCost = 200>
#slow = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, hasHalfConversions = true, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot", issueRate = 22>]>

// A target whose bfloat16 dot products are slower than FMAs, with weights from memory: one row
// waits for the weights, six rows are multiplied in float32 while the weights arrive, and many rows
// take longer than loading the weights.
// CHECK-LABEL: func.func @slow
// CHECK: graph.matmul {{.*}} : (tensor<1x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<1x4096xf32>
// CHECK: graph.matmul {{.*}}keeps_weights{{.*}} : (tensor<6x1024xf32>, tensor<1024x4096xbf16>) -> tensor<6x4096xf32>
// CHECK: graph.matmul {{.*}} : (tensor<64x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
// CHECK: graph.matmul {{.*}} : (tensor<4x64x64xf32>, tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
module attributes {plan.target = #slow} {
  func.func @slow(%x: tensor<1x1024xf32>, %y: tensor<6x1024xf32>, %z: tensor<64x1024xf32>, %q: tensor<4x64x64xf32>, %k: tensor<4x64x96xf32>)
      -> (tensor<1x4096xf32>, tensor<6x4096xf32>, tensor<64x4096xf32>, tensor<4x64x96xf32>) {
    %w = graph.constant {value = dense<1.0> : tensor<1024x4096xf32>} : tensor<1024x4096xf32>
    %0 = graph.matmul %x, %w : (tensor<1x1024xf32>, tensor<1024x4096xf32>) -> tensor<1x4096xf32>
    %1 = graph.matmul %y, %w : (tensor<6x1024xf32>, tensor<1024x4096xf32>) -> tensor<6x4096xf32>
    %2 = graph.matmul %z, %w : (tensor<64x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
    %3 = graph.matmul %q, %k : (tensor<4x64x64xf32>, tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    return %0, %1, %2, %3 : tensor<1x4096xf32>, tensor<6x4096xf32>, tensor<64x4096xf32>, tensor<4x64x96xf32>
  }
}

// -----

// Not lowered: the target has no bfloat16 dot products.
// CHECK-LABEL: func.func @machine
// CHECK-NOT: to = bf16
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, costs = #costs>} {
  func.func @machine(%x: tensor<6x64xf32>) -> tensor<6x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
    return %0 : tensor<6x32xf32>
  }
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// A matrix unit computes GEMMs that fill its tiles. With three or six products, each operand is a
// sum of split components; skinny GEMMs are bound by memory and are kept.
// CHECK-LABEL: func.func @unit
// CHECK: graph.matmul {{.*}} : (tensor<64x256xbf16>, tensor<256x512xbf16>) -> tensor<64x512xf32>
// CHECK: graph.matmul {{.*}} : (tensor<2x256xf32>, tensor<256x512xf32>) -> tensor<2x512xf32>
// THREE-LABEL: func.func @unit
// THREE: %[[W:.*]] = graph.constant
// THREE: %[[X1:.*]] = graph.term %arg0 {count = 2 : i64, index = 0 : i64} {{.*}} -> tensor<64x256xbf16>
// THREE: %[[W1:.*]] = graph.term %[[W]] {count = 2 : i64, index = 0 : i64} {{.*}} -> tensor<256x512xbf16>
// THREE: %[[X2:.*]] = graph.term %arg0 {count = 2 : i64, index = 1 : i64}
// THREE: %[[W2:.*]] = graph.term %[[W]] {count = 2 : i64, index = 1 : i64}
// THREE: graph.matmul %[[X1]], %[[W1]], %[[X2]], %[[W2]] {to = f32} : {{.*}} -> tensor<64x512xf32>
// THREE: graph.matmul {{.*}} : (tensor<2x256xf32>, tensor<256x512xf32>) -> tensor<2x512xf32>
// SIX-LABEL: func.func @unit
// SIX-COUNT-6: graph.term {{.*}}count = 3
// SIX: graph.matmul {{.*}} {to = f32} : {{.*}} -> tensor<64x512xf32>
// SIX: graph.matmul {{.*}} : (tensor<2x256xf32>, tensor<256x512xf32>) -> tensor<2x512xf32>
module attributes {plan.target = #unit} {
  func.func @unit(%x: tensor<64x256xf32>, %y: tensor<2x256xf32>) -> (tensor<64x512xf32>, tensor<2x512xf32>) {
    %w = graph.constant {value = dense<1.0> : tensor<256x512xf32>} : tensor<256x512xf32>
    %0 = graph.matmul %x, %w : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    %1 = graph.matmul %y, %w : (tensor<2x256xf32>, tensor<256x512xf32>) -> tensor<2x512xf32>
    return %0, %1 : tensor<64x512xf32>, tensor<2x512xf32>
  }
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// Dynamic rows may be few: with three products the vector unit computes these; with six, the GEMM
// is kept.
// THREE-LABEL: func.func @unknown
// THREE: graph.matmul {{.*}}to = f32
// SIX-LABEL: func.func @unknown
// SIX-NOT: graph.term
module attributes {plan.target = #unit} {
  func.func @unknown(%x: tensor<?x256xf32> {graph.dims = [#graph.dim<"rows">, 256]}) -> tensor<?x512xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<256x512xf32>} : tensor<256x512xf32>
    %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"rows">, 512]]} : (tensor<?x256xf32>, tensor<256x512xf32>) -> tensor<?x512xf32>
    return %0 : tensor<?x512xf32>
  }
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// Left alone: numbers that can't be split, an infinity or a largest number that is too small; few
// columns, for which splitting costs more than it gains.
// THREE-LABEL: func.func @numbers
// THREE-NOT: graph.term
// SIX-LABEL: func.func @numbers
// SIX-NOT: graph.term
module attributes {plan.target = #unit} {
  func.func @numbers(%x: tensor<64x256xf32>, %y: tensor<64x256xf32>) -> (tensor<64x512xf32>, tensor<64x512xf32>, tensor<64x16xf32>) {
    %u = graph.constant {value = dense<0x7F800000> : tensor<256x512xf32>} : tensor<256x512xf32>
    %v = graph.constant {value = dense<1.0e-30> : tensor<256x512xf32>} : tensor<256x512xf32>
    %w = graph.constant {value = dense<1.0> : tensor<256x16xf32>} : tensor<256x16xf32>
    %0 = graph.matmul %x, %u : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    %1 = graph.matmul %x, %v : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    %2 = graph.matmul %y, %w : (tensor<64x256xf32>, tensor<256x16xf32>) -> tensor<64x16xf32>
    return %0, %1, %2 : tensor<64x512xf32>, tensor<64x512xf32>, tensor<64x16xf32>
  }
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// With six products, weights that several targets share stay one float32 copy.
// THREE-LABEL: func.func @shared
// THREE: graph.term
// SIX-LABEL: func.func @shared
// SIX-NOT: graph.term
module attributes {plan.target = #unit, plan.packing_lanes = 16 : i64} {
  func.func @shared(%x: tensor<64x256xf32>) -> tensor<64x512xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<256x512xf32>} : tensor<256x512xf32>
    %0 = graph.matmul %x, %w : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    return %0 : tensor<64x512xf32>
  }
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 0, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
#gpu = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 1, limits = #limits, costs = #gpuCosts>

// For a GPU, the pass splits no float32 operands, because the warps of the GEMM kernel split them.
// CHECK-LABEL: func.func @grid
// CHECK: graph.matmul {{.*}} : (tensor<32x64xbf16>, tensor<64x32xbf16>) -> tensor<32x32xf32>
// THREE-LABEL: func.func @grid
// THREE: graph.matmul {{.*}} : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
module attributes {plan.target = #gpu} {
  func.func @grid(%x: tensor<32x64xf32>) -> tensor<32x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
    return %0 : tensor<32x32xf32>
  }

  // Skinny GEMMs have no work for matrix instructions: weights are stored in bfloat16, computed
  // operands are unchanged.
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

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// The pass does not split computed operands into components.
// SIX-LABEL: func.func @made
// SIX-NOT: graph.term
module attributes {plan.target = #unit} {
  func.func @made(%x: tensor<64x256xf32>, %w: tensor<256x512xf32>) -> tensor<64x512xf32> {
    %0 = graph.matmul %x, %w : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    return %0 : tensor<64x512xf32>
  }
}
