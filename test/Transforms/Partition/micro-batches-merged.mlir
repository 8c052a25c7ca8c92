// RUN: hewn-opt %s --split-input-file --hewn-partition='stages=2 micro-batches=2 rank=0' --cse | FileCheck %s --check-prefix=FIRST
// RUN: hewn-opt %s --split-input-file --hewn-partition='stages=2 micro-batches=2 rank=1' --cse | FileCheck %s --check-prefix=SECOND

// Dims of which the batch n is a factor: a micro-batch has h = ceil(n / 2) of it.

// The batch n is the outer factor of a merged dim: a micro-batch is one contiguous run of rows.
// FIRST-LABEL: func.func @outer
// FIRST: %[[ALL:.*]] = graph.pad %arg0 {{.*}}high = [{{.*}}, 0, 0]{{.*}}mode = "edge"
// FIRST: %[[X0:.*]] = graph.slice %[[ALL]] {{.*}}offsets = [0, 0, 0], sizes = [#graph.dim<"floordiv(n + 1, 2)">, #graph.dim<"s">, 64]
// FIRST: %[[R0:.*]] = graph.reshape %[[X0]] {{.*}}shape = [#graph.dim<"floordiv(n + 1, 2)*s">, 64]
// FIRST: graph.matmul %[[R0]]
// FIRST: graph.reshape {{.*}}shape = [#graph.dim<"floordiv(n + 1, 2)">, #graph.dim<"s">, 64]

// SECOND-LABEL: func.func @outer
// SECOND: %[[ALL:.*]] = graph.concat
// SECOND: graph.slice %[[ALL]] {{.*}}sizes = [#graph.dim<"n">, #graph.dim<"s">, 64]
func.func @outer(%x: tensor<?x?x64xf32> {graph.dims = [#graph.dim<"n">, #graph.dim<"s">, 64]}) -> tensor<?x?x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.reshape %x {graph.dims = [[#graph.dim<"n*s">, 64]], shape = [#graph.dim<"n*s">, 64]} : (tensor<?x?x64xf32>) -> tensor<?x64xf32>
  %1 = graph.matmul %0, %w {graph.dims = [[#graph.dim<"n*s">, 64]]} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %2 = graph.reshape %1 {graph.dims = [[#graph.dim<"n">, #graph.dim<"s">, 64]], shape = [#graph.dim<"n">, #graph.dim<"s">, 64]} : (tensor<?x64xf32>) -> tensor<?x?x64xf32>
  %3 = graph.matmul %2, %v {graph.dims = [[#graph.dim<"n">, #graph.dim<"s">, 64]]} : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  return %3 : tensor<?x?x64xf32>
}

// -----

// The batch n is the inner factor of a merged dim: a micro-batch has strided rows of each word. The
// result's second dim is the batch, since batch elements attend to all words.
// FIRST-LABEL: func.func @inner
// FIRST: graph.pad %arg0 {{.*}}high = [0, {{.*}}, 0]
// FIRST: graph.slice {{.*}}sizes = [#graph.dim<"s">, #graph.dim<"floordiv(n + 1, 2)">, 64]
// FIRST: graph.reshape {{.*}}shape = [#graph.dim<"floordiv(n + 1, 2)*s">, 64]

// SECOND-LABEL: func.func @inner
// SECOND: graph.concat {{.*}}axis = 1
func.func @inner(%x: tensor<?x?x64xf32> {graph.dims = [#graph.dim<"s">, #graph.dim<"n">, 64]}) -> tensor<?x?x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.reshape %x {graph.dims = [[#graph.dim<"n*s">, 64]], shape = [#graph.dim<"n*s">, 64]} : (tensor<?x?x64xf32>) -> tensor<?x64xf32>
  %1 = graph.matmul %0, %w {graph.dims = [[#graph.dim<"n*s">, 64]]} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %2 = graph.reshape %1 {graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 64]], shape = [#graph.dim<"s">, #graph.dim<"n">, 64]} : (tensor<?x64xf32>) -> tensor<?x?x64xf32>
  %3 = graph.matmul %2, %v {graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 64]]} : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %4 = graph.cumsum %3 {dim = 0 : i64, graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 64]]} : (tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  return %4 : tensor<?x?x64xf32>
}

// -----

// The result's rows are all words, with n as inner factor: the concatenated value has separate dims
// for words and batch elements.
// SECOND-LABEL: func.func @rows
// SECOND: %[[P0:.*]] = graph.reshape {{.*}}shape = [#graph.dim<"s">, #graph.dim<"floordiv(n + 1, 2)">, 1, 64]
// SECOND: %[[ALL:.*]] = graph.concat {{.*}}axis = 1
// SECOND: %[[OWN:.*]] = graph.slice %[[ALL]] {{.*}}sizes = [#graph.dim<"s">, #graph.dim<"n">, 1, 64]
// SECOND: graph.reshape %[[OWN]] {{.*}}shape = [#graph.dim<"n*s">, 64]
func.func @rows(%x: tensor<?x?x64xf32> {graph.dims = [#graph.dim<"s">, #graph.dim<"n">, 64]}) -> tensor<?x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.cumsum %x {dim = 0 : i64, graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 64]]} : (tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %1 = graph.matmul %0, %w {graph.dims = [[#graph.dim<"s">, #graph.dim<"n">, 64]]} : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %2 = graph.reshape %1 {graph.dims = [[#graph.dim<"n*s">, 64]], shape = [#graph.dim<"n*s">, 64]} : (tensor<?x?x64xf32>) -> tensor<?x64xf32>
  %3 = graph.matmul %2, %v {graph.dims = [[#graph.dim<"n*s">, 64]]} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %3 : tensor<?x64xf32>
}

// -----

// 4 heads per batch element: the padded batch is not a multiple of 4 n, so that a micro-batch is
// not half of all heads.
// FIRST-LABEL: func.func @heads
// FIRST: graph.reshape {{.*}}shape = [#graph.dim<"4*floordiv(n + 1, 2)">, 5, 16]
// FIRST: graph.matmul {{.*}}graph.dims = {{\[\[}}#graph.dim<"4*floordiv(n + 1, 2)">, 5, 16]]
func.func @heads(%x: tensor<?x4x5x16xf32> {graph.dims = [#graph.dim<"n">, 4, 5, 16]}) -> tensor<?x4x5x16xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 1024>} : tensor<16x16xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 1024>} : tensor<16x16xf32>
  %0 = graph.reshape %x {graph.dims = [[#graph.dim<"4*n">, 5, 16]], shape = [#graph.dim<"4*n">, 5, 16]} : (tensor<?x4x5x16xf32>) -> tensor<?x5x16xf32>
  %1 = graph.matmul %0, %w {graph.dims = [[#graph.dim<"4*n">, 5, 16]]} : (tensor<?x5x16xf32>, tensor<16x16xf32>) -> tensor<?x5x16xf32>
  %2 = graph.reshape %1 {graph.dims = [[#graph.dim<"n">, 4, 5, 16]], shape = [#graph.dim<"n">, 4, 5, 16]} : (tensor<?x5x16xf32>) -> tensor<?x4x5x16xf32>
  %3 = graph.matmul %2, %v {graph.dims = [[#graph.dim<"n">, 4, 5, 16]]} : (tensor<?x4x5x16xf32>, tensor<16x16xf32>) -> tensor<?x4x5x16xf32>
  return %3 : tensor<?x4x5x16xf32>
}

// -----

// A result without the batch dim is computed after all micro-batches; a result with the batch at
// another index is concatenated there.
// FIRST-LABEL: func.func @mean
// FIRST-COUNT-2: graph.matmul

// SECOND-LABEL: func.func @mean
// SECOND: graph.transpose
// SECOND: graph.transpose
// SECOND: %[[ALL:.*]] = graph.concat {{.*}}axis = 0
// SECOND-NEXT: %[[SUM:.*]] = graph.reduce_sum %[[ALL]]
// SECOND: %[[T:.*]] = graph.concat {{.*}}axis = 1
// SECOND: return %[[ALL]], %[[SUM]], %[[T]]
func.func @mean(%x: tensor<8x64xf32>) -> (tensor<8x32xf32>, tensor<f32>, tensor<32x8xf32>) {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 8192>} : tensor<64x32xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %v : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %2 = graph.reduce_sum %1 {dims = array<i64: 0, 1>, keepdims = false} : (tensor<8x32xf32>) -> tensor<f32>
  %3 = graph.transpose %1 {order = array<i64: 1, 0>} : (tensor<8x32xf32>) -> tensor<32x8xf32>
  return %1, %2, %3 : tensor<8x32xf32>, tensor<f32>, tensor<32x8xf32>
}
