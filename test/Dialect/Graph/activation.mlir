// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Activations: parametrized unary float functions.

// CHECK-LABEL: func.func @parameters
func.func @parameters(%x: tensor<4xf16>) {
  // CHECK: graph.leaky_relu %{{.*}} {alpha = 5.000000e-01 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  %0 = graph.leaky_relu %x {alpha = 0.5 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.thresholded_relu %{{.*}} {alpha = 5.000000e-01 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  %1 = graph.thresholded_relu %x {alpha = 0.5 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.selu %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %2 = graph.selu %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.celu %{{.*}} {alpha = 2.000000e+00 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  %3 = graph.celu %x {alpha = 2.0 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.hard_swish %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %4 = graph.hard_swish %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.swish %{{.*}} {alpha = 2.000000e+00 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  %5 = graph.swish %x {alpha = 2.0 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.mish %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %6 = graph.mish %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.softplus %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %7 = graph.softplus %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.softsign %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %8 = graph.softsign %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.shrink %{{.*}} {bias = 1.000000e+00 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  %9 = graph.shrink %x {bias = 1.0 : f32} : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.sigmoid %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %10 = graph.sigmoid %x : (tensor<4xf16>) -> tensor<4xf16>
  // CHECK: graph.relu %{{.*}} : (tensor<4xf16>) -> tensor<4xf16>
  %11 = graph.relu %x : (tensor<4xf16>) -> tensor<4xf16>
  return
}

// -----

func.func @approximation(%x: tensor<2xf32>) {
  // expected-error @below {{approximation 'erf' is neither none nor tanh}}
  %0 = graph.gelu %x {approximate = "erf"} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @integers(%x: tensor<2xi32>) {
  // expected-error @below {{takes floats, not 'i32'}}
  %0 = graph.mish %x : (tensor<2xi32>) -> tensor<2xi32>
  return
}
