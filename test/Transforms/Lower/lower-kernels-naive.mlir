// A function with the kernel ABI and one plain loop nest per op; graph-to-linalg.mlir tests the
// nests of each op interface.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-lower-kernels-naive --canonicalize --cse | FileCheck %s

// The parameters of a kernel function are context, inputs, results and symbols.
// CHECK-LABEL: func.func @abi
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: index)
plan.kernel @abi(%x: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}, %y: tensor<1xf32>) -> tensor<?xf32> attributes {symbols = ["s0"]} {
  %0 = graph.add %x, %y {graph.dims = [[#graph.dim<"s0">]]} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}

// The naive lowering (-O0) stores the values between the ops of a kernel in memory, except
// constants. A memory layout becomes an order of strides.
// CHECK-LABEL: func.func @two_ops
// CHECK: %[[BETWEEN:.*]] = memref.alloc(
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [2, 3, 5, 7], strides: [105, 1, 21, 3]
// CHECK: linalg.generic
// CHECK: linalg.generic
// CHECK: memref.dealloc %[[BETWEEN]]
plan.kernel @two_ops(%x: tensor<2x3x5x7xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<2x3x5x7xf32> attributes {symbols = []} {
  %c = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = graph.mul %x, %c : (tensor<2x3x5x7xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %1 = graph.relu %0 : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  graph.yield %1 : tensor<2x3x5x7xf32>
}

// The kernel function copies an input that the kernel yields, and a value that it yields twice, to
// the result buffers.
// CHECK-LABEL: func.func @copies
// CHECK-SAME: (%{{.*}}: !llvm.ptr, %[[X:.*]]: memref<?xf32>, %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>, %[[C:.*]]: memref<?xf32>)
// CHECK: linalg.generic
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.*}}, %[[A]]
// CHECK: memref.load %[[B]]
// CHECK: memref.store %{{.*}}, %[[C]]
plan.kernel @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  graph.yield %x, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The pass keeps functions that are no kernels.
// CHECK-LABEL: func.func @left_alone
// CHECK: graph.relu
func.func @left_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{has an argument in a blocked layout, which -O0 does not lower}}
plan.kernel @blocked(%x: tensor<4x16xf32, #graph.layout<[0, 1], blockDim = 1, block = 8>>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<4x16xf32, #graph.layout<[0, 1], blockDim = 1, block = 8>>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}

// -----

plan.kernel @unlike(%x: tensor<2xf32>) -> tensor<2xf32> attributes {symbols = []} {
  // expected-error@+1 {{is a non-splat constant inside a kernel}}
  %c = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %0 = graph.add %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  graph.yield %0 : tensor<2xf32>
}

// -----

plan.kernel @blocked(%x: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  // expected-error@+1 {{has a result in a blocked layout, which -O0 does not lower}}
  %0 = graph.relayout %x : (tensor<4x16xf32>) -> tensor<4x16xf32, #graph.layout<[0, 1], blockDim = 1, block = 8>>
  %1 = graph.relayout %0 : (tensor<4x16xf32, #graph.layout<[0, 1], blockDim = 1, block = 8>>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}
