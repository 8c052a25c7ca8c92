// Reasons why ops on constants are not folded.
// RUN: hewn compile %s --emit=graph --limit folding=0 --remarks=%t.yaml -o /dev/null
// RUN: FileCheck %s < %t.yaml
// CHECK-DAG: its result has many more elements than its operands, and would grow the weights
// CHECK-DAG: its constant operands are not folded: the compile-time operation budget is used up
// CHECK-DAG: a contraction may read the integer weights directly
// CHECK-DAG: a contraction dequantizes these weights in its kernel
// CHECK-DAG: its result has dynamic dims
func.func @main(%x: tensor<1x256xf32> {graph.name = "x"}, %n: tensor<?xf32> {graph.name = "n", graph.dims = [#graph.dim<"n">]}) -> (tensor<1x256xf32> {graph.name = "y"}, tensor<1x256xf32> {graph.name = "z"}, tensor<100000xf32> {graph.name = "u"}, tensor<?xf32> {graph.name = "v", graph.dims = [#graph.dim<"n">]}, tensor<1x128xf32> {graph.name = "c"}) {
  %b = graph.constant {value = dense<2.0> : tensor<1xf32>} : tensor<1xf32>
  %u = graph.expand %b {shape = [100000]} : (tensor<1xf32>) -> tensor<100000xf32>
  %e = graph.expand %b {shape = [#graph.dim<"n">]} : (tensor<1xf32>) -> tensor<?xf32>
  %v = graph.add %n, %e : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %s = graph.constant {value = dense<0.5> : tensor<256xf32>} : tensor<256xf32>
  %q = graph.constant {value = dense<1> : tensor<256x256xi8>} : tensor<256x256xi8>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<256x256xi8>, tensor<256xf32>) -> tensor<256x256xf32>
  %y = graph.matmul %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  %f = graph.constant {value = dense<0.5> : tensor<256x256xf32>} : tensor<256x256xf32>
  %g = graph.matmul %f, %f : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %z = graph.matmul %x, %g : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
  %o = graph.constant {value = dense<1985229328> : tensor<32x128xui32>} : tensor<32x128xui32>
  %t = graph.constant {value = dense<0.5> : tensor<8x128xf32>} : tensor<8x128xf32>
  %d = graph.decode %o, %t {bits = 4, block = 32} : (tensor<32x128xui32>, tensor<8x128xf32>) -> tensor<256x128xf32>
  %c = graph.matmul %x, %d : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  return %y, %z, %u, %v, %c : tensor<1x256xf32>, tensor<1x256xf32>, tensor<100000xf32>, tensor<?xf32>, tensor<1x128xf32>
}
