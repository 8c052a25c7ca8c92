// Every kernel becomes a function with the kernel ABI, by the engine that has the best form for it.
// RUN: hewn-opt %s --hewn-decide-kernels --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// Context, inputs, results, symbols. Bools are bytes.
// CHECK-LABEL: func.func @abi(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xi8>, %{{.*}}: index)
// CHECK-NOT: plan.kernel
plan.kernel @abi(%x: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}, %y: tensor<1xf32>) -> tensor<?xi1> attributes {symbols = ["s0"]} {
  %0 = graph.less %x, %y {graph.dims = [[#graph.dim<"s0">]]} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xi1>
  graph.yield %0 : tensor<?xi1>
}

// A contraction of floats whose columns lie side by side is tiled.
// CHECK-LABEL: func.func @tiled(
// CHECK: vector.fma
plan.kernel @tiled(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %y : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}

// Nothing is refused: what no engine has a good form for is a nest that evaluates each element where it is needed.
// CHECK-LABEL: func.func @nest(
// CHECK: scf.for
// CHECK: vector.store
// CHECK: return
plan.kernel @nest(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.matmul %0, %y : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}

// What is no kernel stays.
// CHECK-LABEL: func.func @left_alone
// CHECK: graph.relu
func.func @left_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

}
