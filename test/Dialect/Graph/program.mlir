// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// What a program has beside what it computes: constants, sizes and symbols, groups, sequences that are known when compiling, and what must
// hold when it runs.

// CHECK-LABEL: func.func @values
func.func @values() {
  // CHECK: graph.constant {value = dense<[1, 2]> : tensor<2xi64>} : tensor<2xi64>
  %0 = graph.constant {value = dense<[1, 2]> : tensor<2xi64>} : tensor<2xi64>
  // CHECK: graph.read_symbol "u0" = %{{.*}}[1] : tensor<2xi64>
  graph.read_symbol "u0" = %0[1] : tensor<2xi64>
  // CHECK: graph.dim_value  {values = [#graph.dim<"u0 + 1">, 3]} : () -> tensor<2xi64>
  %1 = graph.dim_value {values = [#graph.dim<"u0 + 1">, 3]} : () -> tensor<2xi64>
  // CHECK: graph.scratch  {graph.dims = {{\[\[}}#graph.dim<"u0">, 4{{\]\]}}, of = f32, shape = [#graph.dim<"u0">, 4]} : () -> tensor<?x4xf32>
  %2 = graph.scratch {shape = [#graph.dim<"u0">, 4], of = f32, graph.dims = [[#graph.dim<"u0">, 4]]} : () -> tensor<?x4xf32>
  // CHECK: graph.sequence(%{{.*}}, %{{.*}}) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<2xi64>>
  %3 = graph.sequence(%0, %1) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<2xi64>>
  return
}

// -----

// CHECK-LABEL: func.func @requirements
func.func @requirements(%x: tensor<?xi64> {graph.dims = [#graph.dim<"n">]}, %c: tensor<i1>, %e: tensor<1xi64>) {
  // CHECK: graph.check_indices %{{.*}}, %{{.*}} : tensor<?xi64>, tensor<1xi64>
  graph.check_indices %x, %e : tensor<?xi64>, tensor<1xi64>
  // CHECK: graph.require %{{.*}} : tensor<i1>
  graph.require %c : tensor<i1>
  // CHECK: graph.require_dims atMost [#graph.dim<"n">, 8]
  graph.require_dims atMost [#graph.dim<"n">, 8]
  return
}

// -----

// CHECK-LABEL: func.func @grouped
func.func @grouped(%x: tensor<4xf32>) {
  // CHECK: graph.group(%{{.*}}) attributes {why = "elementwise"} {
  %0 = graph.group(%x) attributes {why = "elementwise"} {
  ^bb0(%a: tensor<4xf32>):
    // CHECK: graph.neg %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: graph.yield %{{.*}} : tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @values_of_text() {
  // expected-error @below {{values are no list of integers and expressions}}
  %0 = graph.dim_value {values = [1.0]} : () -> tensor<1xi64>
  return
}

// -----

func.func @scratch_shape() {
  // expected-error @below {{shape is no list of integers and expressions}}
  %0 = graph.scratch {shape = ["n"], of = f32} : () -> tensor<?xf32>
  return
}

// -----

func.func @relation() {
  // expected-error @+2 {{expected one of [equal, broadcast, atMost]}}
  // expected-error @+1 {{failed to parse Graph_RelationAttr parameter 'value'}}
  graph.require_dims less [#graph.dim<"n">, 8]
  return
}

// -----

func.func @one_size() {
  // expected-error @below {{compares two expressions}}
  graph.require_dims equal [#graph.dim<"n">]
  return
}
