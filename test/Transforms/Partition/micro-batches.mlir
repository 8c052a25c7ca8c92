// RUN: hewn-opt %s --split-input-file --hewn-partition='stages=2 micro-batches=2 rank=0' --cse | FileCheck %s --check-prefix=FIRST
// RUN: hewn-opt %s --split-input-file --hewn-partition='stages=2 micro-batches=2 rank=1' --cse | FileCheck %s --check-prefix=SECOND

// The first stage sends a micro-batch before it starts the next one, and receives the result after
// all of them.
// FIRST-LABEL: func.func @numbers
// FIRST: %[[W:.*]] = graph.constant {value = #graph.weight<"w"
// FIRST: %[[X0:.*]] = graph.slice %arg0 {offsets = [0, 0], sizes = [4, 64]
// FIRST: %[[H0:.*]] = graph.matmul %[[X0]], %[[W]]
// FIRST-NEXT: graph.send %[[H0]] {to = 1 : i64} : (tensor<4x64xf32>)
// FIRST: %[[X1:.*]] = graph.slice %arg0 {offsets = [4, 0], sizes = [4, 64]
// FIRST: %[[H1:.*]] = graph.matmul %[[X1]], %[[W]]
// FIRST-NEXT: graph.send %[[H1]] {to = 1 : i64} : (tensor<4x64xf32>)
// FIRST-NEXT: %[[Y:.*]] = graph.receive {{.*}} -> tensor<8x64xf32>
// FIRST-NEXT: return %[[Y]]

// SECOND-LABEL: func.func @numbers
// SECOND: %[[V:.*]] = graph.constant {value = #graph.weight<"v"
// SECOND: %[[H0:.*]] = graph.receive {{.*}} -> tensor<4x64xf32>
// SECOND: %[[Y0:.*]] = graph.matmul %[[H0]], %[[V]]
// SECOND: %[[H1:.*]] = graph.receive {{.*}} -> tensor<4x64xf32>
// SECOND: %[[Y1:.*]] = graph.matmul %[[H1]], %[[V]]
// SECOND: %[[Y:.*]] = graph.concat %[[Y0]], %[[Y1]]
// SECOND-NEXT: graph.send %[[Y]]
// SECOND-NEXT: return %[[Y]]
func.func @numbers(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %1 : tensor<8x64xf32>
}

// -----

// A batch of any size is padded with its last element, and the result is sliced.
// FIRST-LABEL: func.func @symbol
// FIRST: %[[ALL:.*]] = graph.pad %arg0 {{.*}}mode = "edge"
// FIRST: graph.slice %[[ALL]] {{.*}}offsets = [0, 0]{{.*}}floordiv
// FIRST: graph.matmul
// FIRST: graph.slice %[[ALL]] {{.*}}offsets = [#graph.dim<
// FIRST: graph.matmul

// SECOND-LABEL: func.func @symbol
// SECOND: %[[ALL:.*]] = graph.concat
// SECOND: %[[Y:.*]] = graph.slice %[[ALL]] {{.*}}sizes = [#graph.dim<"n">, 64]
// SECOND: return %[[Y]]
func.func @symbol(%x: tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}) -> (tensor<?x64xf32> {graph.dims = [#graph.dim<"n">, 64]}) {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"n">, 64]]} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = graph.matmul %0, %v {graph.dims = [[#graph.dim<"n">, 64]]} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// A value without the batch dim is computed and sent once, and read by all micro-batches, which
// slice the part that they need.
// FIRST-LABEL: func.func @shared
// FIRST: %[[S:.*]] = graph.matmul %arg1
// FIRST-NEXT: graph.send %[[S]] {to = 1 : i64} : (tensor<1x64xf32>)
// FIRST-NOT: graph.matmul %arg1
// FIRST-COUNT-4: graph.send {{.*}} : (tensor<4x64xf32>)
// FIRST-NEXT: graph.receive

// SECOND-LABEL: func.func @shared
// SECOND: %[[S:.*]] = graph.receive {{.*}} -> tensor<1x64xf32>
// SECOND: graph.receive {{.*}} -> tensor<4x64xf32>
// SECOND: graph.mul {{.*}}, %[[S]]
// SECOND: graph.receive {{.*}} -> tensor<4x64xf32>
// SECOND: graph.mul {{.*}}, %[[S]]
func.func @shared(%x: tensor<8x64xf32>, %s: tensor<1x64xf32>) -> tensor<8x64xf32> {
  %u = graph.constant {value = #graph.weight<"u", 0 : 16384>} : tensor<64x64xf32>
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 32768>} : tensor<64x128xf32>
  %k = graph.constant {value = #graph.weight<"k", 0 : 512>} : tensor<128x1xf32>
  %a = graph.matmul %s, %u : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %1 = graph.relu %0 : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = graph.matmul %1, %v : (tensor<8x64xf32>, tensor<64x128xf32>) -> tensor<8x128xf32>
  %3 = graph.matmul %2, %k : (tensor<8x128xf32>, tensor<128x1xf32>) -> tensor<8x1xf32>
  %4 = graph.add %3, %0 : (tensor<8x1xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %5 = graph.mul %4, %a : (tensor<8x64xf32>, tensor<1x64xf32>) -> tensor<8x64xf32>
  return %5 : tensor<8x64xf32>
}

// -----

// A mask with reordered batch elements of an input: reordered as a whole, and read by
// micro-batches.
// FIRST-LABEL: func.func @mask
// FIRST: %[[M:.*]] = graph.slice %arg1 {offsets = [7, 0]
// FIRST-NOT: graph.send
// FIRST: graph.slice %[[M]] {offsets = [0, 0], sizes = [4, 64]
// FIRST: graph.mul
// FIRST: graph.slice %[[M]] {offsets = [4, 0], sizes = [4, 64]
// FIRST: graph.mul

// SECOND-LABEL: func.func @mask
// SECOND-NOT: graph.slice %arg1
func.func @mask(%x: tensor<8x64xf32>, %m: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %f = graph.slice %m {offsets = [7, 0], sizes = [8, 64], steps = array<i64: -1, 1>} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %0 = graph.mul %x, %f : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %2 = graph.matmul %1, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %2 : tensor<8x64xf32>
}

// -----

// Stages have equal work, not equal bytes of constants: the first two ops compute many positions,
// the last one has large constants.
// FIRST-LABEL: func.func @work
// FIRST: graph.conv
// FIRST-NEXT: graph.send {{.*}} : (tensor<4x8x62x62xf32>)
// FIRST-NOT: graph.reduce_sum
func.func @work(%x: tensor<8x8x64x64xf32>) -> tensor<8x1024xf32> {
  %u = graph.constant {value = #graph.weight<"u", 0 : 2304>} : tensor<8x8x3x3xf32>
  %w = graph.constant {value = #graph.weight<"w", 0 : 2304>} : tensor<8x8x3x3xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 32768>} : tensor<8x1024xf32>
  %0 = graph.conv %x, %u {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x8x64x64xf32>, tensor<8x8x3x3xf32>) -> tensor<8x8x62x62xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x8x62x62xf32>, tensor<8x8x3x3xf32>) -> tensor<8x8x60x60xf32>
  %2 = graph.reduce_sum %1 {dims = array<i64: 2, 3>, keepdims = false} : (tensor<8x8x60x60xf32>) -> tensor<8x8xf32>
  %3 = graph.matmul %2, %v : (tensor<8x8xf32>, tensor<8x1024xf32>) -> tensor<8x1024xf32>
  return %3 : tensor<8x1024xf32>
}

// -----

// A value that is computed early in a micro-batch is sent at its end: only then is the next stage
// done with the previous micro-batch.
// FIRST-LABEL: func.func @early
// FIRST: %[[R0:.*]] = graph.relu
// FIRST-NEXT: %[[Y0:.*]] = graph.matmul %[[R0]]
// FIRST-NEXT: graph.send %[[R0]]
// FIRST-NEXT: graph.send %[[Y0]]
// FIRST: %[[R1:.*]] = graph.relu
// FIRST-NEXT: %[[Y1:.*]] = graph.matmul %[[R1]]
// FIRST-NEXT: graph.send %[[R1]]
// FIRST-NEXT: graph.send %[[Y1]]
func.func @early(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %w = graph.constant {value = #graph.weight<"w", 0 : 16384>} : tensor<64x64xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 16384>} : tensor<64x64xf32>
  %0 = graph.relu %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = graph.matmul %0, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %2 = graph.matmul %1, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %3 = graph.add %2, %0 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}
