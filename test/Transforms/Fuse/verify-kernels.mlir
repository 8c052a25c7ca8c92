// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-verify-kernels | FileCheck %s

// Constants, views and launches may stand outside of kernels.
// CHECK-LABEL: func.func @good
plan.kernel @neg(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.neg %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
func.func @good(%x: tensor<4x4xf32>) -> (tensor<16xf32>, tensor<1xf32>) {
  %c = graph.constant {value = dense<1.0> : tensor<1xf32>} : tensor<1xf32>
  %0 = plan.launch @neg(%x) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.reshape %0 {shape = [16]} : (tensor<4x4xf32>) -> tensor<16xf32>
  return %1, %c : tensor<16xf32>, tensor<1xf32>
}

// -----

func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{computes outside of a kernel}}
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// All of it at once.
func.func @composed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{is left over: groups and composed ops end in kernels}}
  %0 = graph.softmax %x {axis = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{is left over: groups and composed ops end in kernels}}
  %1 = graph.group(%0) {
  ^bb0(%a: tensor<4xf32>):
    // expected-error@+1 {{computes outside of a kernel}}
    %2 = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %2 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

plan.kernel @program(%n: tensor<1xi64>) -> tensor<1xi64> attributes {symbols = []} {
  // expected-error@+1 {{cannot be part of a kernel}}
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  graph.yield %n : tensor<1xi64>
}
