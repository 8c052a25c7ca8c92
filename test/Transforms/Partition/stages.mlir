// RUN: hewn-opt %s --hewn-partition='stages=2 rank=0' --cse | FileCheck %s --check-prefix=FIRST
// RUN: hewn-opt %s --hewn-partition='stages=2 rank=1' --cse | FileCheck %s --check-prefix=SECOND
// RUN: hewn-opt %s --hewn-partition='tensor=2 stages=2 rank=3' | FileCheck %s --check-prefix=BOTH

// Each of two stages has half of the constants. Stages send the intermediate value and the result.
// FIRST: %[[H:.*]] = graph.matmul
// FIRST-NEXT: graph.send %[[H]] {to = 1 : i64}
// FIRST-NOT: graph.matmul
// FIRST: %[[Y:.*]] = graph.receive {{.*}}from = 1 : i64{{.*}} -> tensor<8x64xf32>
// FIRST: return %[[Y]], %[[H]]

// SECOND: %[[H:.*]] = graph.receive {{.*}}from = 0 : i64
// SECOND: %[[Y:.*]] = graph.matmul %[[H]]
// SECOND: graph.send %[[Y]] {to = 0 : i64}
// SECOND: %[[OUT:.*]] = graph.receive {{.*}}from = 0 : i64
// SECOND: return %[[Y]], %[[OUT]]

// The second rank of the second stage: it receives from the second rank of the first stage, and
// reduces with its own stage.
// BOTH: graph.receive {{.*}}from = 1 : i64
// BOTH: graph.matmul
// BOTH: {first = 2 : i64{{.*}}ranks = 2 : i64}
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<8x64xf32>) {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %1, %0 : tensor<8x64xf32>, tensor<8x64xf32>
}

// Values computed only from constants and sizes are computed by each stage that uses them, and
// count by the bytes of their constants: 65536 bytes of quantized weights are as much as each of
// the three float matrices.
// FIRST-LABEL: func.func @codes
// FIRST-NOT: receive
// FIRST: graph.dequantize
// FIRST-COUNT-2: graph.matmul
// FIRST-NEXT: graph.send {{.*}}tensor<?x64xf32>
// FIRST-NEXT: graph.receive
// FIRST-NEXT: return

// SECOND-LABEL: func.func @codes
// SECOND: graph.dim_value
// SECOND: graph.dequantize
// SECOND: graph.receive {{.*}}tensor<?x64xf32>
// SECOND-NOT: graph.receive
// SECOND-COUNT-3: graph.matmul
// SECOND-NOT: graph.receive
// SECOND: graph.send
func.func @codes(%x: tensor<?x256xf32> {graph.dims = [#graph.dim<"n">, 256]}) -> (tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}) {
  %c = graph.constant {value = #graph.weight<"c", 0 : 65536>} : tensor<256x256xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %t = graph.constant {value = #graph.weight<"t", 0 : 65536>} : tensor<256x64xf32>
  %u = graph.constant {value = #graph.weight<"u", 0 : 65536>} : tensor<64x256xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 65536>} : tensor<256x64xf32>
  %n = graph.dim_value {values = [#graph.dim<"n">]} : () -> tensor<1xi64>
  %f = graph.cast %n {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
  %w = graph.dequantize %c, %s {to = f32} : (tensor<256x256xi8>, tensor<f32>) -> tensor<256x256xf32>
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"n">, 256]]} : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %1 = graph.matmul %0, %v {graph.dims = [[#graph.dim<"n">, 64]]} : (tensor<?x256xf32>, tensor<256x64xf32>) -> tensor<?x64xf32>
  %2 = graph.matmul %1, %u {graph.dims = [[#graph.dim<"n">, 256]]} : (tensor<?x64xf32>, tensor<64x256xf32>) -> tensor<?x256xf32>
  %3 = graph.matmul %2, %w {graph.dims = [[#graph.dim<"n">, 256]]} : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %4 = graph.mul %3, %f {graph.dims = [[#graph.dim<"n">, 256]]} : (tensor<?x256xf32>, tensor<1xf32>) -> tensor<?x256xf32>
  %5 = graph.matmul %4, %t {graph.dims = [[#graph.dim<"n">, 64]]} : (tensor<?x256xf32>, tensor<256x64xf32>) -> tensor<?x64xf32>
  return %5 : tensor<?x64xf32>
}
