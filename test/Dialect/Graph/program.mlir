// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Ops that structure a program instead of computing: constants, sizes and symbols, groups,
// sequences of constant length, and run-time requirements.

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
  // CHECK: graph.map(%{{.*}}, %{{.*}}) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<2xi64>>
  %map = graph.map(%0, %1) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<2xi64>>
  // CHECK: graph.sequence(%{{.*}}, %{{.*}}) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<2xi64>>
  %3 = graph.sequence(%0, %1) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<2xi64>>
  return
}

// -----

// CHECK-LABEL: func.func @requirements
func.func @requirements(%x: tensor<?xi64> {graph.dims = [#graph.dim<"n">]}, %c: tensor<i1>, %e: tensor<1xi64>, %r: tensor<1x2xi64>) {
  // CHECK: graph.check_indices %{{.*}}, %{{.*}} : tensor<?xi64>, tensor<1xi64>
  graph.check_indices %x, %e : tensor<?xi64>, tensor<1xi64>
  // CHECK: graph.check_indices %{{.*}}, %{{.*}} : tensor<?xi64>, tensor<1x2xi64>
  graph.check_indices %x, %r : tensor<?xi64>, tensor<1x2xi64>
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
  // expected-error @below {{values must be a list of integers and expressions}}
  %0 = graph.dim_value {values = [1.0]} : () -> tensor<1xi64>
  return
}

// -----

func.func @scratch_shape() {
  // expected-error @below {{shape must be a list of integers and expressions}}
  %0 = graph.scratch {shape = ["n"], of = f32} : () -> tensor<?xf32>
  return
}

// -----

func.func @relation() {
  // expected-error @+2 {{expected one of [equal, broadcast, atMost, noCopy]}}
  // expected-error @+1 {{failed to parse Graph_RelationAttr parameter 'value'}}
  graph.require_dims less [#graph.dim<"n">, 8]
  return
}

// -----

func.func @one_size() {
  // expected-error @below {{sizes must be two expressions}}
  graph.require_dims equal [#graph.dim<"n">]
  return
}

// -----

func.func @constant_of_another_type() {
  // expected-error @below {{has elements of type 'tensor<2xi64>', but the result type is 'tensor<4xf32>'}}
  %0 = graph.constant {value = dense<[1, 2]> : tensor<2xi64>} : tensor<4xf32>
  return
}

// -----

func.func @weight_with_too_few_bytes() {
  // expected-error @below {{has a weight of 8 bytes, which are too few for 'tensor<4xf32>'}}
  %0 = graph.constant {value = #graph.weight<"w", 0 : 8>} : tensor<4xf32>
  return
}

// -----

func.func @symbol_behind_the_end(%x: tensor<2xi64>) {
  // expected-error @below {{element 2 may be out of bounds for 'tensor<2xi64>'}}
  graph.read_symbol "n" = %x[2] : tensor<2xi64>
  return
}

// -----

func.func @symbol_of_a_float(%x: tensor<2xf32>) {
  // expected-error @below {{requires an integer tensor of at least 8 bits, not 'tensor<2xf32>'}}
  graph.read_symbol "n" = %x[0] : tensor<2xf32>
  return
}

// -----

func.func @float_indices(%x: tensor<2xf32>, %e: tensor<1xi64>) {
  // expected-error @below {{requires i32 or i64 indices and i64 extents, not 'tensor<2xf32>' and 'tensor<1xi64>'}}
  graph.check_indices %x, %e : tensor<2xf32>, tensor<1xi64>
  return
}

// -----

func.func @narrow_indices(%x: tensor<2xui8>, %e: tensor<1xi64>) {
  // expected-error @below {{requires i32 or i64 indices and i64 extents, not 'tensor<2xui8>' and 'tensor<1xi64>'}}
  graph.check_indices %x, %e : tensor<2xui8>, tensor<1xi64>
  return
}

// -----

func.func @three_bounds(%x: tensor<4xi64>, %e: tensor<1x3xi64>) {
  // expected-error @below {{requires a lowest and a highest valid index, not 'tensor<1x3xi64>'}}
  graph.check_indices %x, %e : tensor<4xi64>, tensor<1x3xi64>
  return
}

// -----

func.func @too_many_extents(%x: tensor<4x2xi64>, %e: tensor<3xi64>) {
  // expected-error @below {{has 3 extents for index tuples of size 2}}
  graph.check_indices %x, %e : tensor<4x2xi64>, tensor<3xi64>
  return
}

// -----

func.func @two_conditions(%x: tensor<2xi1>) {
  // expected-error @below {{requires a single i1, not 'tensor<2xi1>'}}
  graph.require %x : tensor<2xi1>
  return
}

// -----

func.func @another_tuple(%x: tensor<2xi64>) {
  // expected-error @below {{the result type does not match the element types}}
  %0 = graph.sequence(%x) : (tensor<2xi64>) -> tuple<tensor<3xi64>>
  return
}

// -----

func.func @another_pair(%x: tensor<2xi64>) {
  // expected-error @below {{the result type does not match the operand types}}
  %0 = graph.map(%x, %x) : (tensor<2xi64>, tensor<2xi64>) -> tuple<tensor<2xi64>, tensor<3xi64>>
  return
}

// -----

func.func @more_values_than_keys(%x: tensor<2xi64>, %y: tensor<3xf32>) {
  // expected-error @below {{requires keys [k], and values [k] or [n, k]}}
  %0 = graph.map(%x, %y) : (tensor<2xi64>, tensor<3xf32>) -> tuple<tensor<2xi64>, tensor<3xf32>>
  return
}

// -----

func.func @another_argument(%x: tensor<4xf32>) {
  // expected-error @below {{has arguments of other types than its inputs}}
  %0 = graph.group(%x) {
  ^bb0(%a: tensor<5xf32>):
    graph.yield %a : tensor<5xf32>
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @another_output(%x: tensor<4xf32>) {
  // expected-error @below {{yields values of other types than its outputs}}
  %0 = graph.group(%x) {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<5xf32>
  return
}
