// A tensor as parts whose sum it is.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @parts
// CHECK: graph.spread %arg0 {parts = 4 : i64} : (tensor<3x5xf32>) -> tensor<4x3x5xf32>
func.func @parts(%x: tensor<3x5xf32>) -> tensor<4x3x5xf32> {
  %0 = graph.spread %x {parts = 4} : (tensor<3x5xf32>) -> tensor<4x3x5xf32>
  return %0 : tensor<4x3x5xf32>
}

// -----

func.func @none(%x: tensor<3x5xf32>) -> tensor<0x3x5xf32> {
  // expected-error @+1 {{spreads over no parts}}
  %0 = graph.spread %x {parts = 0} : (tensor<3x5xf32>) -> tensor<0x3x5xf32>
  return %0 : tensor<0x3x5xf32>
}
