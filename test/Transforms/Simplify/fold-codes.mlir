// Low-bit weights stay packed if all users are contractions that dequantize them in the kernel.
// RUN: hewn compile %s --emit=graph | FileCheck %s
// RUN: hewn compile %s --emit=kernels --target=sm_80 | FileCheck %s --check-prefix=GRID
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = graph.decode
// CHECK: graph.matmul %{{.*}}, %[[W]]
// The pass folds the dequantization of the other weight to float weights, because one of its users
// needs floats.
// CHECK-NOT: graph.decode
// CHECK: graph.add
// GRID-NOT: graph.decode
// GRID: graph.matmul
func.func @main(%x: tensor<2x256xf32> {graph.name = "x"}, %a: tensor<256x128xf32> {graph.name = "a"}) -> (tensor<2x128xf32> {graph.name = "y"}, tensor<256x128xf32> {graph.name = "z"}) {
  %w = graph.constant {value = dense<1985229328> : tensor<32x128xui32>} : tensor<32x128xui32>
  %v = graph.constant {value = dense<19088743> : tensor<32x128xui32>} : tensor<32x128xui32>
  %s = graph.constant {value = dense<0.5> : tensor<8x128xf32>} : tensor<8x128xf32>
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32>, tensor<8x128xf32>) -> tensor<256x128xf32>
  %1 = graph.decode %v, %s {bits = 4, block = 32} : (tensor<32x128xui32>, tensor<8x128xf32>) -> tensor<256x128xf32>
  %y = graph.matmul %x, %0 : (tensor<2x256xf32>, tensor<256x128xf32>) -> tensor<2x128xf32>
  %z = graph.add %a, %1 : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
  return %y, %z : tensor<2x128xf32>, tensor<256x128xf32>
}
