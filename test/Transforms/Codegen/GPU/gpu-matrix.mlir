// GEMMs by warp-level MMA: three MMAs for float32, one for types that MMA supports.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {

// Code of a GEMM by warp-level MMA: a block of four warps computes a tile of 32 by 32, of which
// each warp has two fragments of 16 by 8. A K-slice has two K steps of 8. The pipeline has four
// stages and loads three slices ahead. The left operand is contiguous along K and is copied by
// rows, the right one by elements.
// CHECK-LABEL: func.func @three(
// CHECK-SAME: #plan.gpu_launch<blocks = 16, threads = 128, symbols = []
// CHECK-COUNT-3: simt.async_commit
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, index)
// CHECK: simt.async_wait 2
// CHECK: simt.barrier
// CHECK: simt.async_copy 16
// CHECK: simt.async_commit
// CHECK: simt.ldmatrix %
// CHECK: memref.load {{.*}} : memref<2048xf32, 3>
// CHECK-COUNT-12: simt.mma{{.*}} of f32, f32
// CHECK-NOT: simt.mma
// CHECK: simt.async_wait 0
// CHECK: simt.barrier
// CHECK: vector.store {{.*}} {alignment = 8 : i64} : memref<?xf32>, vector<2xf32>
plan.kernel @three(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// With half-precision operands, one MMA covers twice as many elements of K as with float32, and
// ldmatrix transposes rows of the right operand.
// CHECK-LABEL: func.func @half(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, index)
// CHECK: simt.ldmatrix %
// CHECK: simt.ldmatrix transposed
// CHECK-COUNT-4: simt.mma{{.*}} of f16, f16
// CHECK-NOT: simt.mma
// CHECK: return
plan.kernel @half(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}

// If the GEMM's kernel computes an operand by a fused op, it stores the operand to shared memory
// after the MMAs, which hide the latency of the loads.
// CHECK-LABEL: func.func @computed(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, index)
// CHECK: simt.barrier
// CHECK: arith.maximumf
// CHECK: simt.async_copy 16
// CHECK-COUNT-4: simt.mma{{.*}} of f16, f16
// CHECK: memref.store {{.*}} : memref<4096xf16, 3>
// CHECK: return
plan.kernel @computed(%x: tensor<128x256xf16>, %w: tensor<256x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
  %0 = graph.relu %x : (tensor<128x256xf16>) -> tensor<128x256xf16>
  %1 = graph.matmul %0, %w : (tensor<128x256xf16>, tensor<256x128xf16>) -> tensor<128x128xf16>
  graph.yield %1 : tensor<128x128xf16>
}

// A GEMM that computes split-K partials: a block computes one split of K and stores its
// accumulators unchanged, without an epilogue. (No split is empty: three splits of five slices.)
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: #plan.gpu_launch<blocks = 48,
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c5 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK: vector.store {{.*}} {alignment = 8 : i64} : memref<?xf32>, vector<2xf32>
// CHECK: return
plan.kernel @parts(%x: tensor<128x80xf32>, %w: tensor<80x128xf32>) -> tensor<3x128x128xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32, splits = 3>} {
  %0 = graph.matmul %x, %w : (tensor<128x80xf32>, tensor<80x128xf32>) -> tensor<128x128xf32>
  %1 = graph.spread %0 {parts = 3} : (tensor<128x128xf32>) -> tensor<3x128x128xf32>
  graph.yield %1 : tensor<3x128x128xf32>
}

// The GEMM kernel stores a result with an odd number of columns element by element.
// CHECK-LABEL: func.func @odd(
// CHECK-NOT: vector.
// CHECK: return
plan.kernel @odd(%x: tensor<128x80xf32>, %w: tensor<80x127xf32>) -> tensor<128x127xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x80xf32>, tensor<80x127xf32>) -> tensor<128x127xf32>
  graph.yield %0 : tensor<128x127xf32>
}

// Code of an int8 GEMM by warp-level MMA: a 32-bit register has four bytes. Both operands are
// contiguous along K. The epilogue reads the accumulators.
// CHECK-LABEL: func.func @bytes(
// CHECK: scf.for {{.*}} -> (i32, i32, i32, i32, i32, i32, i32, i32, index)
// CHECK: simt.ldmatrix %
// CHECK-NOT: turned
// CHECK-COUNT-4: simt.mma{{.*}} of ui8, i8
// CHECK-NOT: simt.mma
// CHECK: arith.subi {{.*}} : vector<2xi32>
// CHECK: vector.store {{.*}} : memref<?xi32>, vector<2xi32>
plan.kernel @bytes(%x: tensor<128x128xui8>, %w: tensor<128x128xi8, #graph.layout<[1, 0]>>, %b: tensor<128xi32>) -> tensor<128x128xi32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<128x128xui8>, tensor<128x128xi8, #graph.layout<[1, 0]>>) -> tensor<128x128xi32>
  %1 = graph.sub %0, %b : (tensor<128x128xi32>, tensor<128xi32>) -> tensor<128x128xi32>
  graph.yield %1 : tensor<128x128xi32>
}

// If an int8 operand is contiguous along its columns instead of K, the kernel transposes it while
// it copies it to shared memory.
// CHECK-LABEL: func.func @turned(
// CHECK: simt.async_copy 16
// CHECK: memref.load {{.*}} : memref<?xi8>
// CHECK: simt.mma{{.*}} of i8, i8
// CHECK: memref.store {{.*}} : memref<8192xi8, 3>
// CHECK: return
plan.kernel @turned(%x: tensor<128x128xi8>, %w: tensor<128x128xi8>) -> tensor<128x128xi32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<128x128xi8>, tensor<128x128xi8>) -> tensor<128x128xi32>
  graph.yield %0 : tensor<128x128xi32>
}
}
