// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels | FileCheck %s

// The kernel copies contiguous runs of 64 kB by memmove: one copy for each of four heads.
// CHECK-LABEL: func.func @heads
// CHECK: scf.for
// CHECK: "llvm.intr.memmove"
// CHECK-NOT: vector.store
plan.kernel @heads(%x: tensor<1x8x1x256x64xf32>) -> tensor<1x8x4x256x64xf32> attributes {symbols = []} {
  %0 = graph.expand %x {shape = [1, 8, 4, 256, 64]} : (tensor<1x8x1x256x64xf32>) -> tensor<1x8x4x256x64xf32>
  graph.yield %0 : tensor<1x8x4x256x64xf32>
}

// Kernels copy short contiguous runs by loops instead of memmove, and also results that fit the
// caches together with their operands.
// CHECK-LABEL: func.func @short_lines
// CHECK-NOT: memmove
// CHECK: vector.store
plan.kernel @short_lines(%x: tensor<512x1x64xf32>) -> tensor<512x4x64xf32> attributes {symbols = []} {
  %0 = graph.expand %x {shape = [512, 4, 64]} : (tensor<512x1x64xf32>) -> tensor<512x4x64xf32>
  graph.yield %0 : tensor<512x4x64xf32>
}
// CHECK-LABEL: func.func @small
// CHECK-NOT: memmove
// CHECK: vector.store
plan.kernel @small(%x: tensor<1x1024xf32>) -> tensor<4x1024xf32> attributes {symbols = []} {
  %0 = graph.expand %x {shape = [4, 1024]} : (tensor<1x1024xf32>) -> tensor<4x1024xf32>
  graph.yield %0 : tensor<4x1024xf32>
}
