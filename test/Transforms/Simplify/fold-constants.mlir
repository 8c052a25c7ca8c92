// Ops on constants are executed at compile time, unless the result would be much larger.
// RUN: hewn compile %s --emit=graph | FileCheck %s
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}, tensor<100000xf32> {graph.name = "z"}, tensor<4xf32> {graph.name = "w"}) {
  %a = graph.constant {value = dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>} : tensor<4xf32>
  %b = graph.constant {value = dense<2.0> : tensor<1xf32>} : tensor<1xf32>
  // CHECK: %[[F:.*]] = graph.constant {value = dense<[4.000000e+00, 8.000000e+00, 1.200000e+01, 1.600000e+01]> : tensor<4xf32>}
  %c = graph.mul %a, %b : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %d = graph.mul %c, %b : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  // CHECK: graph.add %{{.*}}, %[[F]]
  %y = graph.add %x, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: graph.expand
  %z = graph.expand %b {shape = [100000]} : (tensor<1xf32>) -> tensor<100000xf32>
  // The pass folds ops on constant dims like ops on other constants.
  // CHECK: %[[N:.*]] = graph.constant {value = dense<7.000000e+00> : tensor<1xf32>}
  // CHECK-NOT: graph.dim_value
  // CHECK: graph.add %{{.*}}, %[[N]]
  %n = graph.dim_value {values = [7]} : () -> tensor<1xi64>
  %m = graph.cast %n {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
  %w = graph.add %x, %m : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  return %y, %z, %w : tensor<4xf32>, tensor<100000xf32>, tensor<4xf32>
}
