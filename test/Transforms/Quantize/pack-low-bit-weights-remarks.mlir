// Reasons why packed low-bit weights are dequantized before the matmul, each once.
// RUN: hewn-opt %s --split-input-file --hewn-pack-low-bit-weights=precision=medium --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs>} {
// CHECK: NotDecoded | {{.*}}Reason="float weights are faster: the GEMM has many rows, and loading panels is cheaper than dequantizing them"
func.func @many(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<256x256xi8>} : tensor<256x256xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x256xi8>, tensor<256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="its right operand is not a [k, n] matrix reduced along k"
func.func @batches(%x: tensor<4x1x256xf32>) -> tensor<4x1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<4x256x256xi8>} : tensor<4x256x256xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<4x256x256xi8>, tensor<256xf32>) -> tensor<4x256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<4x1x256xf32>, tensor<4x256x256xf32>) -> tensor<4x1x256xf32>
  return %0 : tensor<4x1x256xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="its right operand is not dequantized from integers"
func.func @divided(%x: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<1xf32>} : tensor<1xf32>
  %q = graph.constant {value = dense<1> : tensor<65536xi8>} : tensor<65536xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<65536xi8>, tensor<1xf32>) -> tensor<65536xf32>
  %m = graph.reshape %w {shape = [256, 256]} : (tensor<65536xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %m : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="lookup tables for 2-bit weights are not supported"
func.func @pairs_of_bits(%x: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %t = graph.constant {value = dense<0.5> : tensor<4xf32>} : tensor<4xf32>
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<256x256xui2>} : tensor<256x256xui2>
  %w = graph.look_up %q, %t, %s : (tensor<256x256xui2>, tensor<4xf32>, tensor<256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="its types are not floats of at most 32 bits"
func.func @doubles(%x: tensor<1x256xf64>) -> tensor<1x256xf64> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf64>} : tensor<256xf64>
  %q = graph.constant {value = dense<1> : tensor<256x256xi8>} : tensor<256x256xi8>
  %w = graph.dequantize %q, %s {to = f64} : (tensor<256x256xi8>, tensor<256xf64>) -> tensor<256x256xf64>
  %0 = graph.matmul %x, %w : (tensor<1x256xf64>, tensor<256x256xf64>) -> tensor<1x256xf64>
  return %0 : tensor<1x256xf64>
}
// CHECK: NotDecoded | {{.*}}Reason="its weights are not integers of at most 8 bits with scales"
func.func @wide(%x: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<256x256xi16>} : tensor<256x256xi16>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x256xi16>, tensor<256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="its weights are not constant"
func.func @computed(%x: tensor<1x256xf32>, %q: tensor<256x256xi8>) -> tensor<1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x256xi8>, tensor<256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="its weights are small enough to be faster as floats"
func.func @few(%x: tensor<1x32xf32>) -> tensor<1x32xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<32xf32>} : tensor<32xf32>
  %q = graph.constant {value = dense<1> : tensor<32x32xi8>} : tensor<32x32xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<32x32xi8>, tensor<32xf32>) -> tensor<32x32xf32>
  %0 = graph.matmul %x, %w : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
  return %0 : tensor<1x32xf32>
}
// CHECK: NotDecoded | {{.*}}Reason="a block of weights with one scale does not fill whole 32-bit words"
func.func @parts(%x: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<64x1x256xf32>} : tensor<64x1x256xf32>
  %q = graph.constant {value = dense<1> : tensor<64x4x256xi4>} : tensor<64x4x256xi4>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<64x4x256xi4>, tensor<64x1x256xf32>) -> tensor<64x4x256xf32>
  %m = graph.reshape %w {shape = [256, 256]} : (tensor<64x4x256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %m : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
}

// -----

#costs = #plan.vector_costs<l2LoadCost = 220, l2MissCost = 250, loadCost = 15, broadcastCost = 10, fmaLatencyCost = 400, minAccumulators = 7, attentionRows = 6, fmasPerCycle = 2, memoryBytesPerCycle = 8, cacheLineBytes = 64, prefetchDistanceBytes = 1024, forkJoinInstructions = 8000, launchOverheadBytes = 20000, l3ByteCost = 40, laneLoadCost = 200>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, costs = #costs,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>
module attributes {plan.target = #unit} {
// CHECK: NotDecoded | {{.*}}Reason="float weights are faster: the matrix unit multiplies faster than weights are dequantized"
func.func @unit(%x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<256x256xi8>} : tensor<256x256xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x256xi8>, tensor<256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<64x256xf32>, tensor<256x256xf32>) -> tensor<64x256xf32>
  return %0 : tensor<64x256xf32>
}
}

// -----

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// CHECK: NotDecoded | {{.*}}Reason="the target's kernels multiply weights that are dequantized at compile time"
func.func @grid(%x: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<256x256xi8>} : tensor<256x256xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x256xi8>, tensor<256xf32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
}
