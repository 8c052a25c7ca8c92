// RUN: hewn compile %s --emit=graph | FileCheck %s
// Integers that a target may use stay separate from their scales, even if they have other users;
// integers that no target uses are dequantized.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-1: graph.dequantize {{.*}} tensor<256x128xf32>
// CHECK-NOT: graph.dequantize
// CHECK: graph.matmul
func.func @main(%x: tensor<2x256xf32> {graph.name = "x"}, %a: tensor<128x256xf32> {graph.name = "a"}) -> (tensor<2x128xf32> {graph.name = "y"}, tensor<128x256xf32> {graph.name = "z"}) {
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %q = graph.constant {value = dense<1> : tensor<256x128xi8>} : tensor<256x128xi8>
  %v = graph.constant {value = dense<2> : tensor<128x256xi8>} : tensor<128x256xi8>
  %0 = graph.dequantize %q, %s {to = f32} : (tensor<256x128xi8>, tensor<f32>) -> tensor<256x128xf32>
  %1 = graph.dequantize %v, %s {to = f32} : (tensor<128x256xi8>, tensor<f32>) -> tensor<128x256xf32>
  %y = graph.matmul %x, %0 : (tensor<2x256xf32>, tensor<256x128xf32>) -> tensor<2x128xf32>
  %z = graph.add %a, %1 : (tensor<128x256xf32>, tensor<128x256xf32>) -> tensor<128x256xf32>
  return %y, %z : tensor<2x128xf32>, tensor<128x256xf32>
}
