// Tests which values of a program share a buffer, and how large each buffer is, by the text of the
// plan.
// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --mlir-print-local-scope | FileCheck %s

// Views share their operand's buffer, also a view of a view: the user of the last view keeps the
// first one live, so that the third launch can't have offset 0.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 8192
func.func private @k()
func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<1024xf32>) -> tensor<32x32xf32>
  // CHECK: graph.transpose {{.*}}plan.buffers = [#plan.buffer<alias>]
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<32x32xf32>) -> tensor<32x32xf32, #graph.layout<[1, 0]>>
  // CHECK: graph.reshape {{.*}}plan.buffers = [#plan.buffer<alias>]
  %2 = graph.reshape %0 {shape = [1024]} : (tensor<32x32xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<arena, 4096>]
  %3 = plan.launch @k(%2) symbols [] : (tensor<1024xf32>) -> tensor<1024xf32>
  // CHECK: plan.launch {{.*}}plan.buffers = [#plan.buffer<output, 0>]
  %4 = plan.launch @k(%3, %1) symbols [] : (tensor<1024xf32>, tensor<32x32xf32, #graph.layout<[1, 0]>>) -> tensor<1024xf32>
  return %4 : tensor<1024xf32>
}

// -----

// A blocked layout is padded to full blocks: 10 columns in blocks of 16 take 4 * 16 * 4 bytes.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 256
func.func private @k()
func.func @main(%x: tensor<4x10xf32>) -> tensor<4x10xf32> {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x10xf32>) -> tensor<4x10xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>
  %1 = plan.launch @k(%0) symbols [] : (tensor<4x10xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x10xf32>
  return %1 : tensor<4x10xf32>
}

// -----

// A bool takes one byte, and every buffer is aligned to 64 bytes.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 192
func.func private @k()
func.func @main(%x: tensor<100xi1>) -> tensor<100xi1> {
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<100xi1>) -> tensor<100xi1>
  // CHECK: plan.buffers = [#plan.buffer<arena, 128>]
  %1 = plan.launch @k(%0) symbols [] : (tensor<100xi1>) -> tensor<3xi1>
  %2 = plan.launch @k(%0, %1) symbols [] : (tensor<100xi1>, tensor<3xi1>) -> tensor<100xi1>
  return %2 : tensor<100xi1>
}

// -----

// A value that a branch yields stays in its own buffer: the yielded values of both branches are
// live until an op reads the result of the If.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 192
func.func private @k()
func.func @main(%c: tensor<i1>, %x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.if %c {
    // CHECK: plan.buffers = [#plan.buffer<arena, 64>]
    %2 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
    graph.yield %2 : tensor<16xf32>
  } else {
    graph.yield %0 : tensor<16xf32>
  } : (tensor<i1>) -> tensor<16xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 128>]
  %3 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  %4 = plan.launch @k(%1, %3) symbols [] : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}
