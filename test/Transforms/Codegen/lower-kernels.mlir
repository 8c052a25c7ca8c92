// The ops of every kernel become a function with the kernel ABI, emitted by the most suitable kernel
// generator. The kernel contains the function.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// The parameters of a kernel function are context, inputs, results and symbols. Bools are stored as
// bytes.
// CHECK-LABEL: plan.kernel @abi(tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}, tensor<1xf32>) -> tensor<?xi1>
// CHECK-NEXT: func.func @abi(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xi8>, %{{.*}}: index)
// CHECK-NOT: graph.less
plan.kernel @abi(%x: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}, %y: tensor<1xf32>) -> tensor<?xi1> attributes {symbols = ["s0"]} {
  %0 = graph.less %x, %y {graph.dims = [[#graph.dim<"s0">]]} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xi1>
  graph.yield %0 : tensor<?xi1>
}

// A float contraction with contiguous columns becomes code with register tiles.
// CHECK-LABEL: func.func @tiled(
// CHECK: vector.fma
plan.kernel @tiled(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %y : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}

// The pass can emit code for every kernel: if no generator has a better form, a loop nest evaluates
// each element where it is needed.
// CHECK-LABEL: func.func @nest(
// CHECK: scf.for
// CHECK: vector.store
// CHECK: return
plan.kernel @nest(%x: tensor<4x8xf32>, %y: tensor<8x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.matmul %0, %y : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}

// The pass keeps functions that are no kernels.
// CHECK-LABEL: func.func @left_alone
// CHECK: graph.relu
func.func @left_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

}
