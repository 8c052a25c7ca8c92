// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-decompose-ops | FileCheck %s

// One matmul multiplies the inputs of all steps. The loop body contains the matmul with the state.
// CHECK-LABEL: func.func @lstm
func.func @lstm(%x: tensor<?x2x3xf32> {graph.dims = [#graph.dim<"t">, 2, 3]}, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %b: tensor<1x32xf32>)
    -> (tensor<?x1x2x4xf32>, tensor<1x2x4xf32>) {
  // CHECK: %[[XW:.*]] = graph.matmul {{.*}} : (tensor<?x3xf32>, tensor<3x16xf32>) -> tensor<?x16xf32>
  // CHECK: %[[S:.*]] = graph.reshape {{.*}} : (tensor<?x16xf32>) -> tensor<?x2x16xf32>
  // CHECK: %[[RT:.*]] = graph.transpose {{.*}} : (tensor<16x4xf32>) -> tensor<4x16xf32>
  // CHECK: graph.scan %{{.*}}, %{{.*}}, %[[S]] attributes {backward = array<i1: false, false>, {{.*}}numStates = 2 : i64}
  // CHECK: ^bb0(%[[H:.*]]: tensor<2x4xf32>, %[[C:.*]]: tensor<2x4xf32>, %[[X:.*]]: tensor<2x16xf32>)
  // CHECK: %[[P:.*]] = graph.matmul %[[H]], %[[RT]]
  // CHECK: graph.add %[[P]], %[[X]]
  // CHECK-COUNT-2: graph.sigmoid
  // CHECK: graph.tanh
  // CHECK: graph.yield %[[N:.*]], %{{.*}}, %[[N]] : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  %y, %h, %c = graph.lstm %x, %w, %r, %b {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, activations = ["sigmoid", "tanh", "tanh"],
      alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, graph.dims = [[#graph.dim<"t">, 1, 2, 4], [1, 2, 4], [1, 2, 4]]}
      : (tensor<?x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<1x32xf32>) -> (tensor<?x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return %y, %h : tensor<?x1x2x4xf32>, tensor<1x2x4xf32>
}

// -----

// A bidirectional recurrent op becomes two scans, one for each direction. Steps beyond a sequence's
// length keep the state; y is not computed if it has no uses.
// CHECK-LABEL: func.func @gru
func.func @gru(%x: tensor<5x2x3xf32>, %w: tensor<2x12x3xf32>, %r: tensor<2x12x4xf32>, %n: tensor<2xi32>) -> tensor<2x2x4xf32> {
  // CHECK: graph.range
  // CHECK: graph.scan {{.*}}backward = array<i1: false, false>
  // CHECK: graph.matmul {{.*}} : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  // CHECK: graph.matmul {{.*}} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.less {{.*}} : (tensor<i32>, tensor<2x1xi32>) -> tensor<2x1xi1>
  // CHECK: graph.yield %{{.*}} : tensor<2x4xf32>
  // CHECK: graph.scan {{.*}}backward = array<i1: true, true>
  // CHECK: graph.concat {{.*}} -> tensor<2x2x4xf32>
  %y, %h = graph.gru %x, %w, %r, %n {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>, direction = "bidirectional",
      activations = ["sigmoid", "tanh", "relu", "affine"], alphas = array<f64: 0.0, 0.0, 0.0, 2.0>, betas = array<f64: 0.0, 0.0, 0.0, 1.0>}
      : (tensor<5x2x3xf32>, tensor<2x12x3xf32>, tensor<2x12x4xf32>, tensor<2xi32>) -> (tensor<5x2x2x4xf32>, tensor<2x2x4xf32>)
  return %h : tensor<2x2x4xf32>
}

// -----

// A recurrent op on a sequence of one step does not become a loop.
// CHECK-LABEL: func.func @rnn
// CHECK-NOT: graph.scan
func.func @rnn(%x: tensor<1x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) -> tensor<1x2x4xf32> {
  // CHECK: graph.tanh
  %y, %h = graph.rnn %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>,
      betas = array<f64: 0.0>} : (tensor<1x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return %h : tensor<1x2x4xf32>
}

// -----

func.func @unknownActivation(%x: tensor<1x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @+1 {{activation "sine" is not supported}}
  %y, %h = graph.rnn %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, activations = ["sine"], alphas = array<f64: 0.0>,
      betas = array<f64: 0.0>} : (tensor<1x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @misfit(%x: tensor<1x2x3xf32>, %w: tensor<1x5x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @+1 {{requires weights for 1 directions, 1 gates of size 4, and 3 inputs}}
  %y, %h = graph.rnn %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>,
      betas = array<f64: 0.0>} : (tensor<1x2x3xf32>, tensor<1x5x3xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @rank(%x: tensor<2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @below {{input and weights must have rank 3, and layout must be 0 or 1}}
  %0:2 = graph.rnn %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @direction(%x: tensor<1x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @below {{direction 'sideways' is not supported}}
  %0:2 = graph.rnn %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, direction = "sideways", activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<1x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @bias(%x: tensor<1x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>, %b: tensor<1x4xf32>) {
  // expected-error @below {{shape mismatch of bias, sequence lengths or initial state}}
  %0:2 = graph.rnn %x, %w, %r, %b {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<1x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>, tensor<1x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @activations(%x: tensor<1x2x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>) {
  // expected-error @below {{needs 1 activations}}
  %0:2 = graph.rnn %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, activations = [], alphas = array<f64>, betas = array<f64>} : (tensor<1x2x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @weights_without_scale(%x: tensor<1x2x3xf32>, %w: tensor<1x16x3xui8>, %r: tensor<1x16x4xui8>) {
  // expected-error @below {{needs weights of the input's type, or of integers with a scale of the input's type and zero points of their own}}
  %0:3 = graph.lstm %x, %w, %r {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<1x2x3xf32>, tensor<1x16x3xui8>, tensor<1x16x4xui8>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @scales(%x: tensor<1x2x3xf32>, %w: tensor<1x16x3xui8>, %r: tensor<1x16x4xui8>, %s: tensor<2xf32>) {
  // expected-error @below {{scales and zero points must be one per direction, or one per direction and gate}}
  %0:3 = graph.lstm %x, %w, %r, %s, %s {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<1x2x3xf32>, tensor<1x16x3xui8>, tensor<1x16x4xui8>, tensor<2xf32>, tensor<2xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @peepholes(%x: tensor<1x2x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %p: tensor<1x4xf32>) {
  // expected-error @below {{shape mismatch of initial cell state or peepholes}}
  %0:3 = graph.lstm %x, %w, %r, %p {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<1x2x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<1x4xf32>) -> (tensor<1x1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}
