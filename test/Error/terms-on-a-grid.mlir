// RUN: hewn-opt %s --hewn-lower-kernels --verify-diagnostics

// Nothing makes them for such a machine, but a text can have them.
module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912, products = 1>>} {
// expected-error@+1 {{sums products of terms, for which there is no code on a grid of threads}}
plan.kernel @k(%x: tensor<4x8xbf16>, %w: tensor<8x16xbf16>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w, %x, %w {to = f32} : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}
}
