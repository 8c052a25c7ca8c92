// Tiles by the model: large ones where there are enough of them, parts of the sum where there are not.
// RUN: hewn-opt %s --hewn-choose-tiles | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 16, vectorRegisters = 16, l1Bytes = 131072, l1Ways = 0, l2Bytes = 41943040, l3Bytes = 0, grid = #plan.grid<processors = 108, warp = 32, sharedBytes = 166912, products = 3>>} {
// CHECK: plan.kernel @large({{.*}} {schedule = #plan.grid_contract<m = 64, n = 128>, symbols = []}
plan.kernel @large(%x: tensor<2048x512xf32>, %w: tensor<512x2048xf32>) -> tensor<2048x2048xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2048x512xf32>, tensor<512x2048xf32>) -> tensor<2048x2048xf32>
  graph.yield %0 : tensor<2048x2048xf32>
}

// CHECK: plan.kernel @small({{.*}} {schedule = #plan.grid_contract<m = 32, n = 32, parts = 16>, symbols = []}
plan.kernel @small(%x: tensor<49x2048xf16>, %w: tensor<2048x96xf16>, %b: tensor<96xf16>) -> tensor<49x96xf16> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<49x2048xf16>) -> tensor<49x2048xf16>
  %1 = graph.matmul %0, %w : (tensor<49x2048xf16>, tensor<2048x96xf16>) -> tensor<49x96xf16>
  %2 = graph.add %1, %b : (tensor<49x96xf16>, tensor<96xf16>) -> tensor<49x96xf16>
  graph.yield %2 : tensor<49x96xf16>
}

// What is known only when run has one sum.
// CHECK: plan.kernel @unknown({{.*}} {schedule = #plan.grid_contract<m = 32, n = 32>, symbols = ["s0"]}
plan.kernel @unknown(%x: tensor<?x2048xf32> {graph.dims = ["s0", 2048]}, %w: tensor<2048x96xf32>) -> tensor<?x96xf32> attributes {symbols = ["s0"]} {
  %0 = graph.matmul %x, %w {graph.dims = [["s0", 96]]} : (tensor<?x2048xf32>, tensor<2048x96xf32>) -> tensor<?x96xf32>
  graph.yield %0 : tensor<?x96xf32>
}

// Few rows multiply no matrices.
// CHECK: plan.kernel @few({{.*}} attributes {symbols = []}
plan.kernel @few(%x: tensor<2x2048xf32>, %w: tensor<2048x96xf32>) -> tensor<2x96xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<2x2048xf32>, tensor<2048x96xf32>) -> tensor<2x96xf32>
  graph.yield %0 : tensor<2x96xf32>
}
}
