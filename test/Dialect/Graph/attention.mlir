// RUN: hewn-opt %s --split-input-file --verify-diagnostics | hewn-opt --split-input-file | FileCheck %s
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-decompose-ops | FileCheck %s --check-prefix=COMPOSED

// CHECK-LABEL: func.func @grouped
// COMPOSED-LABEL: func.func @grouped
func.func @grouped(%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x5x8xf32>, %v: tensor<2x3x5x10xf32>) -> tensor<2x6x4x10xf32> {
  // CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} {
  // COMPOSED: graph.reshape {{.*}} -> tensor<2x3x8x8xf32>
  // COMPOSED: graph.matmul {{.*}} -> tensor<2x3x8x5xf32>
  // COMPOSED: graph.mul
  // COMPOSED-NOT: graph.less
  // COMPOSED: graph.reduce_max
  // COMPOSED-NOT: graph.maximum
  // COMPOSED: graph.matmul {{.*}} -> tensor<2x3x8x10xf32>
  %0:2 = graph.attention %q, %k, %v {scale = 0.25 : f64, offset = [0], precision = f32}
    : (tensor<2x6x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x10xf32>) -> (tensor<2x6x4x10xf32>, tensor<2x6x4x5xf32>)
  return %0#0 : tensor<2x6x4x10xf32>
}

// -----

// COMPOSED-LABEL: func.func @causal
func.func @causal(%q: tensor<1x2x4x8xf16>, %k: tensor<1x2x6x8xf16>, %m: tensor<4x6xi1>) -> tensor<1x2x4x8xf16> {
  // The decomposition of attention does not round the scale to float16, but only the scaled
  // queries.
  // COMPOSED: %[[WIDE:.*]] = graph.cast %{{.*}} -> tensor<1x2x4x8xf32>
  // COMPOSED: %[[SCALED:.*]] = graph.mul %[[WIDE]], %{{.*}} : {{.*}} -> tensor<1x2x4x8xf32>
  // COMPOSED: graph.cast %[[SCALED]] {{.*}} -> tensor<1x2x4x8xf16>
  // COMPOSED: graph.where
  // COMPOSED: graph.less
  // COMPOSED: graph.where
  // COMPOSED: graph.cast {{.*}} -> tensor<1x2x4x6xf32>
  // COMPOSED: graph.reduce_max
  // COMPOSED: graph.maximum
  %0:2 = graph.attention %q, %k, %k mask %m {scale = 0.25 : f64, offset = [2], right = 0 : i64, precision = f32}
    : (tensor<1x2x4x8xf16>, tensor<1x2x6x8xf16>, tensor<1x2x6x8xf16>, tensor<4x6xi1>) -> (tensor<1x2x4x8xf16>, tensor<1x2x4x6xf16>)
  return %0#0 : tensor<1x2x4x8xf16>
}

// -----

func.func @heads(%q: tensor<2x5x4x8xf32>, %k: tensor<2x3x5x8xf32>) {
  // expected-error @+1 {{number of query heads (5) is not a multiple of the number of key heads (3)}}
  %0:2 = graph.attention %q, %k, %k {scale = 0.25 : f64, offset = [0], precision = f32}
    : (tensor<2x5x4x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> (tensor<2x5x4x8xf32>, tensor<2x5x4x5xf32>)
  return
}

// -----

func.func @ranks(%q: tensor<5x4x8xf32>) {
  // expected-error @below {{takes q, k and v of rank 4}}
  %0:2 = graph.attention %q, %q, %q {scale = 0.25 : f64, offset = [0], precision = f32} : (tensor<5x4x8xf32>, tensor<5x4x8xf32>, tensor<5x4x8xf32>) -> (tensor<5x4x8xf32>, tensor<5x4x4xf32>)
  return
}

// -----

func.func @sizes(%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x5x9xf32>) {
  // expected-error @below {{shape mismatch between q, k and v}}
  %0:2 = graph.attention %q, %k, %k {scale = 0.25 : f64, offset = [0], precision = f32} : (tensor<2x6x4x8xf32>, tensor<2x3x5x9xf32>, tensor<2x3x5x9xf32>) -> (tensor<2x6x4x9xf32>, tensor<2x6x4x5xf32>)
  return
}

// -----

func.func @types(%q: tensor<2x6x4x8xf32>, %k: tensor<2x3x5x8xf16>) {
  // expected-error @below {{requires q, k and v of the same float type}}
  %0:2 = graph.attention %q, %k, %k {scale = 0.25 : f64, offset = [0], precision = f32} : (tensor<2x6x4x8xf32>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> (tensor<2x6x4x8xf32>, tensor<2x6x4x5xf32>)
  return
}

// -----

func.func @mask(%q: tensor<1x2x4x8xf32>, %m: tensor<3x6xi1>) {
  // expected-error @below {{mask must be bool or q's float type and broadcast to the scores' shape}}
  %0:2 = graph.attention %q, %q, %q mask %m {scale = 0.25 : f64, offset = [0], precision = f32} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<3x6xi1>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x4xf32>)
  return
}

// -----

func.func @lengths(%q: tensor<1x2x4x8xf32>, %l: tensor<1xf32>) {
  // expected-error @below {{lengths must be a 1-D integer tensor}}
  %0:2 = graph.attention %q, %q, %q lengths %l {scale = 0.25 : f64, offset = [0], precision = f32} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x4xf32>)
  return
}

// -----

func.func @offset(%q: tensor<1x2x4x8xf32>) {
  // expected-error @below {{offset must be a single integer}}
  %0:2 = graph.attention %q, %q, %q {scale = 0.25 : f64, offset = [0, 1], precision = f32} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x4xf32>)
  return
}
