// GEMM code for full tiles of a matrix unit: it has four accumulator tiles, which the epilogue
// reads through memory.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

#l = #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>
#unit = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.x86.tilezero.internal", load = "llvm.x86.tileloadd64.internal", store = "llvm.x86.tilestored64.internal", product = "llvm.x86.tdpbf16ps.internal", relativeRate = 12, minRows = 6>]>
module attributes {plan.target = #unit} {

// CHECK-LABEL: func.func @one(
// CHECK: scf.for {{.*}} -> (!llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) {
// CHECK-COUNT-2: tileloadd64
// CHECK: tileloadd64
// CHECK-COUNT-2: tdpbf16ps
// CHECK: tileloadd64
// CHECK-COUNT-2: tdpbf16ps
// CHECK-NOT: tileloadd64
// CHECK-COUNT-4: tilestored64
plan.kernel @one(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16, #l>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<64x32xf32>
  graph.yield %0 : tensor<64x32xf32>
}

// A float32 GEMM by three split-bf16 components (bf16x6): six bfloat16 products add to the same
// four accumulator tiles. Each product reuses a pair of operand tiles that the previous one has
// loaded.
// CHECK-LABEL: func.func @six(
// CHECK: scf.for {{.*}} -> (!llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx, !llvm.x86_amx) {
// CHECK-COUNT-14: tileloadd64
// CHECK-NOT: tileloadd64
// CHECK-COUNT-4: tdpbf16ps
// CHECK: scf.yield
// CHECK-COUNT-4: tilestored64
plan.kernel @six(%x0: tensor<64x64xbf16>, %w0: tensor<64x32xbf16, #l>, %x1: tensor<64x64xbf16>, %w1: tensor<64x32xbf16, #l>, %x2: tensor<64x64xbf16>, %w2: tensor<64x32xbf16, #l>) -> tensor<64x32xf32> attributes {symbols = []} {
  %0 = graph.matmul %x0, %w0, %x1, %w1, %x2, %w2 {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #l>, tensor<64x64xbf16>, tensor<64x32xbf16, #l>, tensor<64x64xbf16>, tensor<64x32xbf16, #l>) -> tensor<64x32xf32>
  graph.yield %0 : tensor<64x32xf32>
}

// On a target without bfloat16 dot-product instructions, a GEMM of split components still computes
// the sum over pairs of components.
// CHECK-LABEL: func.func @elements(
// CHECK-COUNT-3: arith.mulf
plan.kernel @elements(%x0: tensor<3x5xbf16>, %w0: tensor<5x7xbf16>, %x1: tensor<3x5xbf16>, %w1: tensor<5x7xbf16>) -> tensor<3x7xf32> attributes {symbols = []} {
  %0 = graph.matmul %x0, %w0, %x1, %w1 {to = f32} : (tensor<3x5xbf16>, tensor<5x7xbf16>, tensor<3x5xbf16>, tensor<5x7xbf16>) -> tensor<3x7xf32>
  graph.yield %0 : tensor<3x7xf32>
}
}
