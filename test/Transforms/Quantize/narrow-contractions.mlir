// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions=precision=medium | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions=precision=high | FileCheck %s --check-prefix=THREE
// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions=precision=highest | FileCheck %s --check-prefix=SIX

// Why not, each reason once.
// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions=precision=medium --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY-ONE
// WHY-ONE: NotNarrowed | {{.*}}Reason="its windows take less time by minimal filtering of float32"
// WHY-ONE: NotNarrowed | {{.*}}Reason="its right operand is made when run, and packing that in pairs takes longer than is gained"
// WHY-ONE: NotNarrowed | {{.*}}Reason="it has too few rows or columns to fill the tiles of a matrix unit"
// RUN: hewn-opt %s --split-input-file --hewn-narrow-contractions=precision=highest --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY-SIX
// WHY-SIX: NotNarrowed | {{.*}}Reason="products of terms are not expected to take less time"
// WHY-SIX: NotNarrowed | {{.*}}Reason="its rows are known only when run, and may be too few to gain by products of terms"
// WHY-SIX: NotNarrowed | {{.*}}Reason="its constant is not finite, or too small for terms of bfloat16"
// WHY-SIX: NotNarrowed | {{.*}}Reason="several machines share its constant, which is split into terms for one alone"
// WHY-SIX: NotNarrowed | {{.*}}Reason="its right operand is made when run, and only constants are split into terms"

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#fast = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs, dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>

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
#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 4, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608, costs = #costs>} {
  func.func @machine(%x: tensor<6x64xf32>) -> tensor<6x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<6x64xf32>, tensor<64x32xf32>) -> tensor<6x32xf32>
    return %0 : tensor<6x32xf32>
  }
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// A matrix unit takes what fills its tiles. By more products each side is a sum of terms; few rows wait for weights and stay.
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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">],
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// Rows known only when run may be few: by three products vectors do these, by six it stays.
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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// Left alone: numbers without terms, an infinite one or the largest too small for them; few columns, for which splitting costs
// more than it gains.
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

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// Constants of several machines stay one copy by six products.
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

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 0, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
#grid = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 1, limits = #limits, costs = #gridCosts>>

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

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, chainRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>

// Left alone by terms: what is no constant.
// SIX-LABEL: func.func @made
// SIX-NOT: graph.term
module attributes {plan.target = #unit} {
  func.func @made(%x: tensor<64x256xf32>, %w: tensor<256x512xf32>) -> tensor<64x512xf32> {
    %0 = graph.matmul %x, %w : (tensor<64x256xf32>, tensor<256x512xf32>) -> tensor<64x512xf32>
    return %0 : tensor<64x512xf32>
  }
}
