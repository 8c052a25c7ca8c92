// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// Kernels, launches, copies between host and device memory, and tensors assembled from subviews.

// CHECK: plan.kernel @negated(%arg0: tensor<?x6xf32> {graph.dims = [#graph.dim<"s0">, 6]}) -> tensor<?x6xf32> attributes {symbols = ["s0"], why = "elementwise"} {
// CHECK: graph.yield
plan.kernel @negated(%x: tensor<?x6xf32> {graph.dims = [#graph.dim<"s0">, 6]}) -> tensor<?x6xf32> attributes {symbols = ["s0"], why = "elementwise"} {
  %0 = graph.neg %x {graph.dims = [[#graph.dim<"s0">, 6]]} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  graph.yield %0 : tensor<?x6xf32>
}

// CHECK: plan.kernel @product({{.*}}) -> tensor<4x4xf32> attributes {schedule = #plan.gpu_tile<m = 32, n = 32, splits = 2>, symbols = []} {
plan.kernel @product(%x: tensor<4x6xf32>, %w: tensor<6x4xf32>) -> tensor<4x4xf32> attributes {schedule = #plan.gpu_tile<m = 32, n = 32, splits = 2>, symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}

plan.kernel @four(%x: tensor<4x6xf32>) -> tensor<4x6xf32> attributes {symbols = []} {
  %0 = graph.neg %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  graph.yield %0 : tensor<4x6xf32>
}

func.func @main(%x: tensor<?x6xf32> {graph.dims = [#graph.dim<"n">, 6]}, %y: tensor<4x6xf32>) -> (tensor<?x6xf32>, tensor<8x6xf32>) {
  // CHECK: plan.copy %{{.*}} to device {graph.dims = {{\[\[}}#graph.dim<"n">, 6{{\]\]}}} : tensor<?x6xf32>
  %0 = plan.copy %x to device {graph.dims = [[#graph.dim<"n">, 6]]} : tensor<?x6xf32>
  // CHECK: plan.launch @negated(%{{.*}}) symbols [#graph.dim<"n">] {graph.dims = {{\[\[}}#graph.dim<"n">, 6{{\]\]}}} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %1 = plan.launch @negated(%0) symbols [#graph.dim<"n">] {graph.dims = [[#graph.dim<"n">, 6]]} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %2 = plan.launch @four(%y) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = plan.launch @four(%y) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK: plan.assemble %{{.*}}, %{{.*}} along 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %4 = plan.assemble %2, %3 along 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return %1, %4 : tensor<?x6xf32>, tensor<8x6xf32>
}

// -----

func.func @memory(%x: tensor<4xf32>) {
  // expected-error @+2 {{expected one of [host, device]}}
  // expected-error @+1 {{failed to parse Plan_CopyToAttr parameter 'value'}}
  %0 = plan.copy %x to disk : tensor<4xf32>
  return
}

// -----

func.func @no_subviews() {
  // expected-error @below {{needs at least one subview, and a dim below the rank of the result}}
  %0 = plan.assemble along 0 : () -> tensor<8x6xf32>
  return
}

// -----

func.func @no_turns(%x: tensor<4x6xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-error @below {{needs a positive step for each dim, and as many subviews as their product}}
  %1 = plan.assemble %0 along 0 {plan.steps = array<i64: 2, 1>} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @unlike_subviews(%x: tensor<4x6xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf16>
  // expected-error @below {{has a subview whose rank or element type differs from the result's, or whose length is dynamic}}
  %1 = plan.assemble %0 along 0 : (tensor<4x6xf16>) -> tensor<4x6xf32>
  return
}

// -----

func.func @nobody_makes(%x: tensor<4x6xf32>) {
  // expected-error @below {{has a subview that is not the result of a launch in the same block}}
  %0 = plan.assemble %x along 0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @shared(%x: tensor<4x6xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-error @below {{has a subview that is an operand of another plan.assemble}}
  %1 = plan.assemble %0, %0 along 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

func.func @apart(%x: tensor<4x6xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x6xf32>) -> tensor<4x3xf32>
  // expected-error @below {{has a subview whose layout differs from its part of the result: 'tensor<4x3xf32>'}}
  %1 = plan.assemble %0 along 1 : (tensor<4x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @shorter(%x: tensor<4x6xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-error @below {{has a result whose length is not the sum of the subviews' lengths}}
  %1 = plan.assemble %0 along 0 : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}

// -----

// expected-error @below {{argument must be at least 0, and bytes at least 1}}
#box = #plan.tma_tile<argument = -1, bytes = 4, extents = [8, 8], strides = [32], sizes = [8, 8]>

// -----

func.func @turns(%x: tensor<4x6xf32>) {
  %0 = plan.launch @k(%x) symbols [] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-error @below {{needs a positive step for each dim, and as many subviews as their product}}
  %1 = plan.assemble %0 along 0 {plan.steps = array<i64: 2, 1>} : (tensor<4x6xf32>) -> tensor<8x6xf32>
  return
}
