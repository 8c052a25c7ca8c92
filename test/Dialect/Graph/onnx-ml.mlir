// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Decision trees and n-grams, evaluated by runtime functions.

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
  // expected-error @below {{requires rows of f32 or f64}}
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
  // expected-error @below {{requires three 1-D tensors as votes, or none}}
  %0 = graph.forest %x, %nodes, %trees, %starts {aggregate = 0, plain = true, maxFeature = 2, numTargets = 1} : (tensor<2x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>, tensor<3xi32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @targets(%x: tensor<2x3xf32>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>) {
  // expected-error @below {{requires an aggregate of 0, 1 or 2, and votes if there are several targets}}
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 2, numTargets = 5} : (tensor<2x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @feature(%x: tensor<2x3xf32>, %nodes: tensor<3x4xi32>, %trees: tensor<1x2xi32>) {
  // expected-error @below {{uses feature 3 of rows with 3 features}}
  %0 = graph.forest %x, %nodes, %trees {aggregate = 0, plain = true, maxFeature = 3, numTargets = 1} : (tensor<2x3xf32>, tensor<3x4xi32>, tensor<1x2xi32>) -> tensor<2x1xf32>
  return
}

// -----

// CHECK-LABEL: func.func @ngrams
func.func @ngrams(%x: tensor<2x5xi64>, %pool: tensor<7xi64>, %starts: tensor<2xi64>, %columns: tensor<4xi64>, %slots: tensor<8xi32>, %weights: tensor<4xf32>) {
  // CHECK: graph.ngrams {{.*}} -> tensor<2x4xf32>
  %0 = graph.ngrams %x, %pool, %starts, %columns, %slots, %weights {least = 1, most = 2, skips = 0, once = false, numColumns = 4} : (tensor<2x5xi64>, tensor<7xi64>, tensor<2xi64>, tensor<4xi64>, tensor<8xi32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @words(%x: tensor<2x5xi32>, %pool: tensor<7xi64>, %starts: tensor<2xi64>, %columns: tensor<4xi64>, %slots: tensor<8xi32>, %weights: tensor<4xf32>) {
  // expected-error @below {{requires rows of words and lists of i64}}
  %0 = graph.ngrams %x, %pool, %starts, %columns, %slots, %weights {least = 1, most = 2, skips = 0, once = false, numColumns = 4} : (tensor<2x5xi32>, tensor<7xi64>, tensor<2xi64>, tensor<4xi64>, tensor<8xi32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @lengths(%x: tensor<2x5xi64>, %pool: tensor<7xi64>, %starts: tensor<2xi64>, %columns: tensor<4xi64>, %slots: tensor<8xi32>, %weights: tensor<4xf32>) {
  // expected-error @below {{requires n-grams of 1 to 64 words}}
  %0 = graph.ngrams %x, %pool, %starts, %columns, %slots, %weights {least = 0, most = 2, skips = 0, once = false, numColumns = 4} : (tensor<2x5xi64>, tensor<7xi64>, tensor<2xi64>, tensor<4xi64>, tensor<8xi32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @slots(%x: tensor<2x5xi64>, %pool: tensor<7xi64>, %starts: tensor<2xi64>, %columns: tensor<4xi64>, %slots: tensor<4xi32>, %weights: tensor<4xf32>) {
  // expected-error @below {{requires a hash table of i32, whose size is a power of two and more than the n-grams}}
  %0 = graph.ngrams %x, %pool, %starts, %columns, %slots, %weights {least = 1, most = 2, skips = 0, once = false, numColumns = 4} : (tensor<2x5xi64>, tensor<7xi64>, tensor<2xi64>, tensor<4xi64>, tensor<4xi32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @column_weights(%x: tensor<2x5xi64>, %pool: tensor<7xi64>, %starts: tensor<2xi64>, %columns: tensor<4xi64>, %slots: tensor<8xi32>, %weights: tensor<3xf32>) {
  // expected-error @below {{requires an f32 weight for each column, or none}}
  %0 = graph.ngrams %x, %pool, %starts, %columns, %slots, %weights {least = 1, most = 2, skips = 0, once = false, numColumns = 4} : (tensor<2x5xi64>, tensor<7xi64>, tensor<2xi64>, tensor<4xi64>, tensor<8xi32>, tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

// CHECK-LABEL: func.func @probabilities
func.func @probabilities(%x: tensor<?x3xf32> {graph.dims = [#graph.dim<"n">, 3]}) {
  // CHECK: graph.pairwise_probabilities %{{.*}} {graph.dims = {{\[\[}}#graph.dim<"n">, 3{{\]\]}}, numClasses = 3 : i64} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  %0 = graph.pairwise_probabilities %x {numClasses = 3, graph.dims = [[#graph.dim<"n">, 3]]} : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @too_few_pairs(%x: tensor<2x3xf32>) {
  // expected-error @below {{requires f32 rows with a probability for each pair of 4 classes}}
  %0 = graph.pairwise_probabilities %x {numClasses = 4} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}
