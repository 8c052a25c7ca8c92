// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels | FileCheck %s

// Runs of 64 kB are copied by C's library: a copy of each of them for the head that it is, four times.
// CHECK-LABEL: func.func @heads
// CHECK: scf.for
// CHECK: "llvm.intr.memmove"
// CHECK-NOT: vector.store
plan.kernel @heads(%x: tensor<1x8x1x256x64xf32>) -> tensor<1x8x4x256x64xf32> attributes {symbols = []} {
  %0 = graph.expand %x {shape = [1, 8, 4, 256, 64]} : (tensor<1x8x1x256x64xf32>) -> tensor<1x8x4x256x64xf32>
  graph.yield %0 : tensor<1x8x4x256x64xf32>
}

// Short runs, and results that the caches hold beside their operands, are loops.
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
