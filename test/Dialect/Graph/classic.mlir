// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Decision trees: a part of the runtime walks them.

// CHECK-LABEL: func.func @forests
func.func @forests(%x: tensor<?x3xf32> {graph.dims = [#graph.dim<"n">, 3]}, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>, %starts: tensor<3xi32>, %targets: tensor<4xi32>, %weights: tensor<4xf32>) {
  // CHECK: graph.forest %{{.*}}, %{{.*}}, %{{.*}} {aggregate = 0 : i64, graph.dims = {{\[\[}}#graph.dim<"n">, 1{{\]\]}}, maxFeature = 2 : i64, numTargets = 1 : i64, plain = true} : (tensor<?x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<?x1xf32>
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 2, numTargets = 1, graph.dims = [[#graph.dim<"n">, 1]]} : (tensor<?x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<?x1xf32>
  // CHECK: graph.forest %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {aggregate = 2 : i64, graph.dims = {{\[\[}}#graph.dim<"n">, 5{{\]\]}}, maxFeature = 2 : i64, numTargets = 5 : i64, plain = false} : (tensor<?x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>, tensor<3xi32>, tensor<4xi32>, tensor<4xf32>) -> tensor<?x5xf32>
  %1 = graph.forest %x, %nodes, %trees, %starts, %targets, %weights {aggregate = 2, plain = false, maxFeature = 2, numTargets = 5, graph.dims = [[#graph.dim<"n">, 5]]} : (tensor<?x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>, tensor<3xi32>, tensor<4xi32>, tensor<4xf32>) -> tensor<?x5xf32>
  return
}

// -----

func.func @rows(%x: tensor<2x3xf16>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>) {
  // expected-error @below {{needs rows of f32 or f64}}
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 2, numTargets = 1} : (tensor<2x3xf16>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<2x1xf16>
  return
}

// -----

func.func @records(%x: tensor<2x3xf64>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>) {
  // expected-error @below {{needs nodes [n, 6] and trees [n, 2] of i32}}
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 2, numTargets = 1} : (tensor<2x3xf64>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<2x1xf64>
  return
}

// -----

func.func @votes(%x: tensor<2x3xf32>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>, %starts: tensor<3xi32>) {
  // expected-error @below {{needs three lists as votes, or none}}
  %0 = graph.forest %x, %nodes, %trees, %starts {aggregate = 0, plain = true, maxFeature = 2, numTargets = 1} : (tensor<2x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>, tensor<3xi32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @targets(%x: tensor<2x3xf32>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>) {
  // expected-error @below {{needs an aggregate of 0, 1 or 2, and votes where there are several targets}}
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 2, numTargets = 5} : (tensor<2x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @feature(%x: tensor<2x3xf32>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>) {
  // expected-error @below {{asks for feature 3 of rows of 3}}
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 3, numTargets = 1} : (tensor<2x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<2x1xf32>
  return
}
