// Contractions by the matrix instruction of a warp: three products for float32, one for numbers that fit its factors.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#limits = #plan.grid_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gridCosts = #plan.grid_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gridCosts>>} {

// A tile of 32 by 32 by four warps, two fragments of 16 by 8 each; two steps of 8 a slice, three slices ahead in a ring of four.
// The left operand lies along the sum and comes by lines, the right one by elements.
// CHECK-LABEL: func.func @three(
// CHECK-SAME: #plan.grid_launch<blocks = 16, threads = 128, symbols = []
// CHECK-COUNT-3: grid.async_commit
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, index)
// CHECK: grid.async_wait 2
// CHECK: grid.barrier
// CHECK: grid.async_copy 16
// CHECK: grid.async_commit
// CHECK: grid.ldmatrix %
// CHECK: memref.load {{.*}} : memref<2048xf32, 3>
// CHECK-COUNT-12: grid.mma{{.*}} of f32, f32
// CHECK-NOT: grid.mma
// CHECK: grid.async_wait 0
// CHECK: grid.barrier
// CHECK: vector.store {{.*}} {alignment = 8 : i64} : memref<?xf32>, vector<2xf32>
plan.kernel @three(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// Half floats are factors: one product, of twice the depth. The right operand's lines are turned.
// CHECK-LABEL: func.func @half(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, index)
// CHECK: grid.ldmatrix %
// CHECK: grid.ldmatrix transposed
// CHECK-COUNT-4: grid.mma{{.*}} of f16, f16
// CHECK-NOT: grid.mma
// CHECK: return
plan.kernel @half(%x: tensor<128x64xf16>, %w: tensor<64x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf16>, tensor<64x128xf16>) -> tensor<128x128xf16>
  graph.yield %0 : tensor<128x128xf16>
}

// An operand that is computed is written to shared memory after the products that hide its loads.
// CHECK-LABEL: func.func @computed(
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, index)
// CHECK: grid.barrier
// CHECK: arith.maximumf
// CHECK: grid.async_copy 16
// CHECK-COUNT-4: grid.mma{{.*}} of f16, f16
// CHECK: memref.store {{.*}} : memref<4096xf16, 3>
// CHECK: return
plan.kernel @computed(%x: tensor<128x256xf16>, %w: tensor<256x128xf16>) -> tensor<128x128xf16> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
  %0 = graph.relu %x : (tensor<128x256xf16>) -> tensor<128x256xf16>
  %1 = graph.matmul %0, %w : (tensor<128x256xf16>, tensor<256x128xf16>) -> tensor<128x128xf16>
  graph.yield %1 : tensor<128x128xf16>
}

// Parts of a sum: a block takes one of them, and writes it as it is. (None of three parts of five slices begins behind the last one.)
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: #plan.grid_launch<blocks = 48,
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c5 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[END]] step
// CHECK: vector.store {{.*}} {alignment = 8 : i64} : memref<?xf32>, vector<2xf32>
// CHECK: return
plan.kernel @parts(%x: tensor<128x80xf32>, %w: tensor<80x128xf32>) -> tensor<3x128x128xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32, splits = 3>} {
  %0 = graph.matmul %x, %w : (tensor<128x80xf32>, tensor<80x128xf32>) -> tensor<128x128xf32>
  %1 = graph.spread %0 {parts = 3} : (tensor<128x128xf32>) -> tensor<3x128x128xf32>
  graph.yield %1 : tensor<3x128x128xf32>
}

// A result with an odd number of columns is stored an element at a time.
// CHECK-LABEL: func.func @odd(
// CHECK-NOT: vector.
// CHECK: return
plan.kernel @odd(%x: tensor<128x80xf32>, %w: tensor<80x127xf32>) -> tensor<128x127xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w : (tensor<128x80xf32>, tensor<80x127xf32>) -> tensor<128x127xf32>
  graph.yield %0 : tensor<128x127xf32>
}

// Bytes are words of four, products of integers. Both operands are lines along the sum; what comes after follows on the sums.
// CHECK-LABEL: func.func @bytes(
// CHECK: scf.for {{.*}} -> (i32, i32, i32, i32, i32, i32, i32, i32, index)
// CHECK: grid.ldmatrix %
// CHECK-NOT: turned
// CHECK-COUNT-4: grid.mma{{.*}} of ui8, i8
// CHECK-NOT: grid.mma
// CHECK: arith.subi {{.*}} : vector<2xi32>
// CHECK: vector.store {{.*}} : memref<?xi32>, vector<2xi32>
plan.kernel @bytes(%x: tensor<128x128xui8>, %w: tensor<128x128xi8, #graph.layout<[1, 0]>>, %b: tensor<128xi32>) -> tensor<128x128xi32> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<128x128xui8>, tensor<128x128xi8, #graph.layout<[1, 0]>>) -> tensor<128x128xi32>
  %1 = graph.sub %0, %b : (tensor<128x128xi32>, tensor<128xi32>) -> tensor<128x128xi32>
  graph.yield %1 : tensor<128x128xi32>
}

// One that lies along its columns is turned on the way.
// CHECK-LABEL: func.func @turned(
// CHECK: grid.async_copy 16
// CHECK: memref.load {{.*}} : memref<?xi8>
// CHECK: grid.mma{{.*}} of i8, i8
// CHECK: memref.store {{.*}} : memref<8192xi8, 3>
// CHECK: return
plan.kernel @turned(%x: tensor<128x128xi8>, %w: tensor<128x128xi8>) -> tensor<128x128xi32> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
  %0 = graph.matmul %x, %w {to = i32} : (tensor<128x128xi8>, tensor<128x128xi8>) -> tensor<128x128xi32>
  graph.yield %0 : tensor<128x128xi32>
}
}
