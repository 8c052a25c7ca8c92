// A view of a constant is the constant with another type: nothing is executed.
// RUN: hewn-opt %s --pass-pipeline='builtin.module(func.func(hewn-fold-constants))' | FileCheck %s
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<1x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>) {
  // CHECK-DAG: %[[A:.*]] = graph.constant {value = #graph.weight<"a", 64 : 16>} : tensor<2x2xf32>
  // CHECK-DAG: %[[B:.*]] = graph.constant {value = dense<{{\[\[}}1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>}
  // CHECK-DAG: %[[C:.*]] = graph.constant {value = dense<{{\[\[}}1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>}
  %0 = graph.constant {value = #graph.weight<"a", 64 : 16>} : tensor<4xf32>
  %a = graph.reshape %0 {shape = [2, 2]} : (tensor<4xf32>) -> tensor<2x2xf32>
  %1 = graph.constant {value = dense<[1.0, 2.0]> : tensor<2xf32>} : tensor<2xf32>
  %b = graph.reshape %1 {shape = [1, 2]} : (tensor<2xf32>) -> tensor<1x2xf32>
  %c = graph.transpose %b {order = array<i64: 1, 0>} : (tensor<1x2xf32>) -> tensor<2x1xf32>
  %y = graph.add %x, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  // Not folded: this transpose of a constant is not a view, because it permutes elements in memory.
  // CHECK: %[[D:.*]] = graph.transpose %[[A]]
  %d = graph.transpose %a {order = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  // CHECK: return %{{.*}}, %[[B]], %[[C]], %[[D]]
  return %y, %b, %c, %d : tensor<2x2xf32>, tensor<1x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>
}
