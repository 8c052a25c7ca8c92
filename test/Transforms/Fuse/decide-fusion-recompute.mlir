// A fused producer is recomputed for each read: successive indexing ops that read several elements
// each are not fused into one kernel, whatever cheap ops are between them.
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="the producer would be recomputed too often"

// A resize along both dims of an image reads four elements of memory per result element.
// CHECK-LABEL: func.func @two_dims
func.func @two_dims(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32> {
  // CHECK: graph.resize {{.*}}dim = 2{{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}dim = 3{{.*}}graph.fusion_group = 0
  %0 = graph.resize %x {dim = 2 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  %1 = graph.resize %0 {dim = 3 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x16x8xf32>) -> tensor<1x3x16x16xf32>
  return %1 : tensor<1x3x16x16xf32>
}

// -----

// A resize along one dim computes a cheap elementwise op for both elements that it reads. With four
// reads, it does not pay.
// CHECK-LABEL: func.func @one_dim_behind_relu
func.func @one_dim_behind_relu(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32> {
  // CHECK: graph.relu {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}dim = 2{{.*}}graph.fusion_group = 0
  %r = graph.relu %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %0 = graph.resize %r {dim = 2 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  return %0 : tensor<1x3x16x8xf32>
}

// CHECK-LABEL: func.func @behind_relu
func.func @behind_relu(%x: tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32> {
  // CHECK: graph.relu {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}dim = 2{{.*}}graph.fusion_group = 1
  // CHECK: graph.resize {{.*}}dim = 3{{.*}}graph.fusion_group = 1
  %r = graph.relu %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %0 = graph.resize %r {dim = 2 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  %1 = graph.resize %0 {dim = 3 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x16x8xf32>) -> tensor<1x3x16x16xf32>
  return %1 : tensor<1x3x16x16xf32>
}

// -----

// If many ops come before the resize, they are computed once, in a kernel of their own. The two
// dims of the resize stay fused.
// CHECK-LABEL: func.func @behind_many
func.func @behind_many(%x: tensor<1x3x8x8xf32>, %y: tensor<1x3x8x8xf32>) -> tensor<1x3x16x16xf32> {
  // CHECK: graph.add {{.*}}graph.fusion_group = 0
  // CHECK: graph.mul {{.*}}graph.fusion_group = 0
  // CHECK: graph.relu {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}dim = 2{{.*}}graph.fusion_group = 1
  // CHECK: graph.resize {{.*}}dim = 3{{.*}}graph.fusion_group = 1
  %a = graph.add %x, %y : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %m = graph.mul %a, %x : (tensor<1x3x8x8xf32>, tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %r = graph.relu %m : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %0 = graph.resize %r {dim = 2 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  %1 = graph.resize %0 {dim = 3 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x16x8xf32>) -> tensor<1x3x16x16xf32>
  return %1 : tensor<1x3x16x16xf32>
}

// -----

// Several resizes with an add in between: each of them is a kernel.
// CHECK-LABEL: func.func @levels
func.func @levels(%x: tensor<1x3x8x8xf32>, %y: tensor<1x3x16x16xf32>) -> tensor<1x3x32x32xf32> {
  // CHECK: graph.resize {{.*}}graph.fusion_group = 0{{.*}}size = [16]
  // CHECK: graph.resize {{.*}}graph.fusion_group = 0{{.*}}size = [16]
  // CHECK: graph.add {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}graph.fusion_group = 1{{.*}}size = [32]
  // CHECK: graph.resize {{.*}}graph.fusion_group = 1{{.*}}size = [32]
  %0 = graph.resize %x {dim = 2 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x8x8xf32>) -> tensor<1x3x16x8xf32>
  %1 = graph.resize %0 {dim = 3 : i64, size = [16], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x16x8xf32>) -> tensor<1x3x16x16xf32>
  %2 = graph.add %1, %y : (tensor<1x3x16x16xf32>, tensor<1x3x16x16xf32>) -> tensor<1x3x16x16xf32>
  %3 = graph.resize %2 {dim = 2 : i64, size = [32], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x16x16xf32>) -> tensor<1x3x32x16xf32>
  %4 = graph.resize %3 {dim = 3 : i64, size = [32], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel"} : (tensor<1x3x32x16xf32>) -> tensor<1x3x32x32xf32>
  return %4 : tensor<1x3x32x32xf32>
}

// -----

// Several successive resizes with dynamic dims, each of which is a kernel.
// CHECK-LABEL: func.func @levels_of_unknown_size
func.func @levels_of_unknown_size(%x: tensor<?x8xf32> {graph.dims = [#graph.dim<"n">, 8]}, %y: tensor<?x8xf32> {graph.dims = [#graph.dim<"2*n">, 8]}) -> tensor<?x8xf32> {
  // CHECK: graph.resize {{.*}}graph.fusion_group = 0
  // CHECK: graph.add {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}graph.fusion_group = 1
  // CHECK: graph.add {{.*}}graph.fusion_group = 1
  // CHECK: graph.resize {{.*}}graph.fusion_group = 2
  %0 = graph.resize %x {dim = 0 : i64, size = [#graph.dim<"2*n">], scale = 0.0 : f64, mode = "cubic", coordinates = "half_pixel", graph.dims = [[#graph.dim<"2*n">, 8]]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = graph.add %0, %y {graph.dims = [[#graph.dim<"2*n">, 8]]} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = graph.resize %1 {dim = 0 : i64, size = [#graph.dim<"2*n">], scale = 1.5 : f64, mode = "cubic", coordinates = "half_pixel", graph.dims = [[#graph.dim<"2*n">, 8]]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %3 = graph.add %2, %y {graph.dims = [[#graph.dim<"2*n">, 8]]} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = graph.resize %3 {dim = 0 : i64, size = [#graph.dim<"2*n">], scale = 1.5 : f64, mode = "cubic", coordinates = "half_pixel", graph.dims = [[#graph.dim<"2*n">, 8]]} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return %4 : tensor<?x8xf32>
}

// -----

// An indexing op that reads one element per result element repeats nothing: a chain of ops is
// transposed while it is computed.
// CHECK-LABEL: func.func @turned
func.func @turned(%x: tensor<64x32xf32>) -> tensor<32x64xf32> {
  // CHECK: graph.add {{.*}}graph.fusion_group = 0
  // CHECK: graph.mul {{.*}}graph.fusion_group = 0
  // CHECK: graph.sub {{.*}}graph.fusion_group = 0
  // CHECK: graph.slice {{.*}}graph.fusion_group = 0
  %0 = graph.add %x, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = graph.mul %0, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = graph.sub %1, %x : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = graph.slice %2 {offsets = [0, 31], sizes = [64, 32], steps = array<i64: 1, -1>} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = graph.transpose %3 {order = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}

// -----

// In a chain of indexing ops, each level reads two elements of the previous level, so that fusion
// of one more level doubles the loads from memory. The number of recomputations over all levels
// decides on fusion, not that of the last level.
// CHECK-LABEL: func.func @many_levels
func.func @many_levels(%x: tensor<?xf32> {graph.dims = [#graph.dim<"a">]}, %y: tensor<1xf32>) -> tensor<?xf32> {
  // CHECK: graph.resize {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}graph.fusion_group = 0
  // CHECK: graph.resize {{.*}}graph.fusion_group = 1
  // CHECK: graph.resize {{.*}}graph.fusion_group = 1
  // CHECK: graph.resize {{.*}}graph.fusion_group = 2
  // CHECK: graph.resize {{.*}}graph.fusion_group = 2
  %0 = graph.resize %x {dim = 0 : i64, size = [#graph.dim<"b">], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", graph.dims = [[#graph.dim<"b">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = graph.resize %0 {dim = 0 : i64, size = [#graph.dim<"c">], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", graph.dims = [[#graph.dim<"c">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = graph.resize %1 {dim = 0 : i64, size = [#graph.dim<"d">], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", graph.dims = [[#graph.dim<"d">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %3 = graph.resize %2 {dim = 0 : i64, size = [#graph.dim<"e">], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", graph.dims = [[#graph.dim<"e">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %4 = graph.resize %3 {dim = 0 : i64, size = [#graph.dim<"f">], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", graph.dims = [[#graph.dim<"f">]]} : (tensor<?xf32>) -> tensor<?xf32>
  %5 = graph.resize %4 {dim = 0 : i64, size = [#graph.dim<"g">], scale = 0.0 : f64, mode = "linear", coordinates = "half_pixel", graph.dims = [[#graph.dim<"g">]]} : (tensor<?xf32>) -> tensor<?xf32>
  return %5 : tensor<?xf32>
}
