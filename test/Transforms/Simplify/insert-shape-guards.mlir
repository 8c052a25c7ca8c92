// RUN: hewn-opt %s --split-input-file --hewn-insert-shape-guards | FileCheck %s

// Guards of a matmul with bias: both operands have the same K, the bias has one column or as many
// as the result, and no dim is negative.
// CHECK-LABEL: func.func @product
// CHECK-SAME: graph.requires = [#graph.requirement<"", equal, "m", "n">, #graph.requirement<"", broadcast, "b", "max(3, b)">]
func.func @product(%x: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"n">]}, %w: tensor<?x3xf32> {graph.dims = [#graph.dim<"m">, 3]},
                   %bias: tensor<?xf32> {graph.dims = [#graph.dim<"b">]}) -> tensor<2x?xf32> {
  %0 = graph.matmul %x, %w : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  %1 = graph.expand %bias {graph.dims = [[#graph.dim<"max(3, b)">]], shape = [#graph.dim<"max(3, b)">]} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = graph.expand %1 {graph.dims = [[2, #graph.dim<"max(3, b)">]], shape = [2, #graph.dim<"max(3, b)">]} : (tensor<?xf32>) -> tensor<2x?xf32>
  return %2 : tensor<2x?xf32>
}

// -----

// Guards: a slice is inside of its dim, the operands of a concat match, and a view has as many
// elements as its operand.
// CHECK-LABEL: func.func @moves
// CHECK-SAME: #graph.requirement<"", atMost, 8, "n">
// CHECK-SAME: #graph.requirement<"", equal, "k", "m">
// CHECK-SAME: #graph.requirement<"", equal, "n", 32>
func.func @moves(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}, %a: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"m">]},
                 %b: tensor<2x?xf32> {graph.dims = [2, #graph.dim<"k">]}) -> (tensor<4xf32>, tensor<4x?xf32>, tensor<4x8xf32>) {
  %0 = graph.slice %x {offsets = [4], sizes = [4], steps = array<i64: 1>} : (tensor<?xf32>) -> tensor<4xf32>
  %1 = graph.concat %a, %b {axis = 0 : i64, graph.dims = [[4, #graph.dim<"m">]]} : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<4x?xf32>
  %2 = graph.reshape %x {shape = [4, 8]} : (tensor<?xf32>) -> tensor<4x8xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4x?xf32>, tensor<4x8xf32>
}

// -----

// Equal symbols are equal sizes, and conditions that hold for all sizes of the symbols need no
// guard.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: graph.requires
func.func @plain(%x: tensor<?x?xf32> {graph.dims = [#graph.dim<"n">, #graph.dim<"m">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"m">]}) -> tensor<?xf32> {
  %0 = graph.add %x, %y {graph.dims = [[#graph.dim<"n">, #graph.dim<"m">]]} : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %1 = graph.reshape %0 {graph.dims = [[#graph.dim<"m*n">]], shape = [#graph.dim<"m*n">]} : (tensor<?x?xf32>) -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// -----

// The pass inserts the guard of a dim that depends on data directly before the op that needs it,
// not at the start of the function.
// CHECK-LABEL: func.func @data
// CHECK-NOT: graph.requires
// CHECK: graph.require_dims equal [8, #graph.dim<"u0">]
// CHECK-NEXT: graph.matmul
func.func @data(%n: tensor<1xi64>, %x: tensor<2x4xf32>, %w: tensor<8x3xf32>) -> tensor<2x3xf32> {
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  %0 = graph.slice %x {graph.dims = [[2, #graph.dim<"u0">]], offsets = [0, 0], sizes = [2, #graph.dim<"u0">], steps = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x?xf32>
  %1 = graph.matmul %0, %w : (tensor<2x?xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// -----

// Requirements of an op's reads: a slice from the end needs that many elements, a clamped position
// needs one, and a reflected position divides by the extent.
// CHECK-LABEL: func.func @reads
// CHECK-SAME: #graph.requirement<"", atMost, 5, "n">
// CHECK-SAME: #graph.requirement<"", atMost, "min(1, k)", "n">
// CHECK-SAME: #graph.requirement<"", equal, "k", "n">
func.func @reads(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}, %i: tensor<?xi64> {graph.dims = [#graph.dim<"k">]}, %y: tensor<4x?xf32> {graph.dims = [4, #graph.dim<"n">]})
    -> (tensor<1xf32>, tensor<?xf32>, tensor<4x?xf32>) {
  %0 = graph.slice %x {offsets = [#graph.dim<"n - 5">], sizes = [1], steps = array<i64: 1>} : (tensor<?xf32>) -> tensor<1xf32>
  %1 = graph.gather %x, %i {axis = 0 : i64, graph.dims = [[#graph.dim<"k">]]} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  %2 = graph.reverse_sequence %y, %i {batchAxis = 1 : i64, timeAxis = 0 : i64, graph.dims = [[4, #graph.dim<"n">]]} : (tensor<4x?xf32>, tensor<?xi64>) -> tensor<4x?xf32>
  return %0, %1, %2 : tensor<1xf32>, tensor<?xf32>, tensor<4x?xf32>
}

// -----

// Runtime calls declare the requirements that their C code relies on.
// CHECK-LABEL: func.func @parts
// CHECK-SAME: #graph.requirement<"", equal, "c", "a">
// CHECK-SAME: #graph.requirement<"", equal, "d", "b">
// CHECK-SAME: #graph.requirement<"", atMost, "b", "m">
func.func @parts(%x: tensor<?x?xf32> {graph.dims = [#graph.dim<"n">, #graph.dim<"m">]}, %i: tensor<?x?xi64> {graph.dims = [#graph.dim<"a">, #graph.dim<"b">]},
                 %u: tensor<?x?xf32> {graph.dims = [#graph.dim<"c">, #graph.dim<"d">]}) -> tensor<?x?xf32> {
  %0 = graph.scatter_elements %x, %i, %u {axis = 0 : i64, graph.dims = [[#graph.dim<"n">, #graph.dim<"m">]]} : (tensor<?x?xf32>, tensor<?x?xi64>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

// A requirement from the importer becomes a guard of the function, or stays in place if data
// decide.
// CHECK-LABEL: func.func @said
// CHECK-SAME: graph.requires = [#graph.requirement<"", atMost, "n", "m">]
// CHECK-NOT: "atMost" ["n", "m"]
// CHECK: graph.require_dims atMost [1, #graph.dim<"u0">]
func.func @said(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"m">]}, %n: tensor<1xi64>) -> tensor<?xf32> {
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  graph.require_dims atMost [#graph.dim<"n">, #graph.dim<"m">]
  graph.require_dims atMost [1, #graph.dim<"u0">]
  return %x : tensor<?xf32>
}
