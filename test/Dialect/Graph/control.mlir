// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @branches
func.func @branches(%c: tensor<i1>, %x: tensor<?x4xf32> {graph.dims = [#graph.dim<"n">, 4]}) -> tensor<?x4xf32> {
  // CHECK: graph.if %{{.*}} attributes {graph.dims = {{\[\[}}#graph.dim<"n">, 4]]}
  %0 = graph.if %c attributes {graph.dims = [[#graph.dim<"n">, 4]]} {
    graph.yield %x : tensor<?x4xf32>
  } else {
    %1 = graph.neg %x {graph.dims = [[#graph.dim<"n">, 4]]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    graph.yield %1 : tensor<?x4xf32>
  } : (tensor<i1>) -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

func.func @unlikeBranches(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<5xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{yielded value 0 of type 'tensor<5xf32>' is not compatible with 'tensor<4xf32>'}}
  %0 = graph.if %c {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %y : tensor<5xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @loopWithoutCondition(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{must yield a condition first}}
  %0 = graph.loop %n, %c, %x {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %h: tensor<4xf32>):
    graph.yield %h : tensor<4xf32>
  } : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @loopAppends(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) -> tensor<?x5xf32> {
  // expected-error @+1 {{result 1 of type 'tensor<?x5xf32>' does not stack 'tensor<4xf32>'}}
  %0:2 = graph.loop %n, %c, %x {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %h: tensor<4xf32>):
    graph.yield %go, %h, %h : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  } : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x5xf32>)
  return %0#1 : tensor<?x5xf32>
}

// -----

func.func @scanSlices(%h: tensor<4xf32>, %x: tensor<10x4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{input 1 of type 'tensor<4xf32>' is not compatible with 'tensor<10x4xf32>'}}
  %0 = graph.scan %h, %x attributes {numStates = 1 : i64, backward = array<i1: false>} {
  ^bb0(%s: tensor<4xf32>, %e: tensor<10x4xf32>):
    graph.yield %s : tensor<4xf32>
  } : (tensor<4xf32>, tensor<10x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scanDims(%h: tensor<4xf32>, %x: tensor<10x?xf32> {graph.dims = [10, #graph.dim<"n">]}) -> tensor<4xf32> {
  // expected-error @+1 {{graph.region_dims needs a list for each argument}}
  %0 = graph.scan %h, %x attributes {numStates = 1 : i64, backward = array<i1: false>, graph.region_dims = [[[#graph.dim<"n">]]]} {
  ^bb0(%s: tensor<4xf32>, %e: tensor<?xf32>):
    graph.yield %s : tensor<4xf32>
  } : (tensor<4xf32>, tensor<10x?xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @branch_arguments(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{branches take no arguments}}
  %0 = graph.if %c {
  ^bb0(%y: tensor<4xf32>):
    graph.yield %y : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @condition(%c: tensor<2xi1>, %x: tensor<4xf32>) {
  // expected-error @below {{condition must be a single i1}}
  %0 = graph.if %c {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  } : (tensor<2xi1>) -> tensor<4xf32>
  return
}

// -----

func.func @yielded_less(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{has 0 yielded values instead of 1}}
  %0 = graph.if %c {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield
  } : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @region_lists(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{graph.region_dims needs a list for each region}}
  %0 = graph.if %c attributes {graph.region_dims = [[]]} {
    graph.yield %x : tensor<4xf32>
  } else {
    graph.yield %x : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  return
}

// -----

func.func @trips(%n: tensor<i32>, %c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{takes a single i64 and a single i1, then the carried values}}
  %0 = graph.loop %n, %c, %x {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %h: tensor<4xf32>):
    graph.yield %go, %h : tensor<i1>, tensor<4xf32>
  } : (tensor<i32>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @carried(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @below {{carries 1 values, yields 0 and has 1 results}}
  %0 = graph.loop %n, %c, %x {
  ^bb0(%i: tensor<i64>, %go: tensor<i1>, %h: tensor<4xf32>):
    graph.yield %go : tensor<i1>
  } : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @states(%x: tensor<4xf32>) {
  // expected-error @below {{has 1 states, 1 inputs and yields 1 values for 1 results; it needs at least one sequence}}
  %0 = graph.scan %x attributes {numStates = 1 : i64, backward = array<i1>} {
  ^bb0(%s: tensor<4xf32>):
    graph.yield %s : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @backward(%x: tensor<4xf32>) {
  // expected-error @below {{backward needs an entry for each sequence, inputs and outputs}}
  %0 = graph.scan %x attributes {numStates = 0 : i64, backward = array<i1: false>} {
  ^bb0(%s: tensor<f32>):
    graph.yield %s : tensor<f32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @scalar_sequence(%x: tensor<f32>) {
  // expected-error @below {{a sequence must have rank 1 or more}}
  %0 = graph.scan %x attributes {numStates = 0 : i64, backward = array<i1: false, false>} {
  ^bb0(%s: tensor<f32>):
    graph.yield %s : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @unlike_lengths(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{sequences differ in length}}
  %0 = graph.scan %x, %y attributes {numStates = 0 : i64, backward = array<i1: false, false, false>} {
  ^bb0(%s: tensor<f32>, %t: tensor<f32>):
    graph.yield %s : tensor<f32>
  } : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @region_dims(%x: tensor<4x?xf32> {graph.dims = [4, #graph.dim<"n">]}) {
  // expected-error @below {{graph.region_dims [3] does not match 'tensor<?xf32>'}}
  %0 = graph.scan %x attributes {numStates = 0 : i64, backward = array<i1: false, false>, graph.region_dims = [[[3]]], graph.dims = [[4, #graph.dim<"n">]]} {
  ^bb0(%s: tensor<?xf32>):
    graph.yield %s : tensor<?xf32>
  } : (tensor<4x?xf32>) -> tensor<4x?xf32>
  return
}
