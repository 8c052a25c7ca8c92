// Assignment of live ranges to offsets in the arena: larger values first, each at the lowest offset
// that is free during its live range.
// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --hewn-verify-plan --mlir-print-local-scope | FileCheck %s

// The largest value gets the lowest offset, whenever it is computed; small values are above it, or
// at its offset when it is dead.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 4224 : i64, plan.max_live = 4224 : i64
func.func private @k()
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: plan.buffers = [#plan.buffer<arena, [[SMALL:4096|4160]]>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %1 = plan.launch @k(%0) symbols [] : (tensor<16xf32>) -> tensor<1024xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, {{4096|4160}}>]
  %2 = plan.launch @k(%0, %1) symbols [] : (tensor<16xf32>, tensor<1024xf32>) -> tensor<16xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %3 = plan.launch @k(%2, %0) symbols [] : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %4 = plan.launch @k(%3) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}

// -----

// In this program, assigning offsets in the order of size, of lifetime or of their product leaves
// holes in the arena (1152 bytes and more); the search finds the packing without holes.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 896 : i64, plan.max_live = 896 : i64
func.func private @k()
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<5x16xf32>
  %1 = plan.launch @k(%0) symbols [] : (tensor<5x16xf32>) -> tensor<3x16xf32>
  %2 = plan.launch @k(%0) symbols [] : (tensor<5x16xf32>) -> tensor<6x16xf32>
  %3 = plan.launch @k(%2) symbols [] : (tensor<6x16xf32>) -> tensor<5x16xf32>
  %4 = plan.launch @k(%3) symbols [] : (tensor<5x16xf32>) -> tensor<4x16xf32>
  %5 = plan.launch @k(%1) symbols [] : (tensor<3x16xf32>) -> tensor<5x16xf32>
  %6 = plan.launch @k(%4, %5) symbols [] : (tensor<4x16xf32>, tensor<5x16xf32>) -> tensor<16xf32>
  return %6 : tensor<16xf32>
}

// -----

// With symbolic sizes, each value is placed directly above the values that it must not overlap.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = #graph.dim<"4096*a + 4096*b + 64*floordiv(4*a + 63, 64)">
// CHECK-NOT: plan.arena_levels
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"a">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"b">]}) -> tensor<?xf32> {
  %0 = plan.launch @k(%x) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %1 = plan.launch @k(%y) symbols [#graph.dim<"b">] {graph.dims = [[#graph.dim<"b">, 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %2 = plan.launch @k(%0, %1) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">]]} : (tensor<?x1024xf32>, tensor<?x1024xf32>) -> tensor<?xf32>
  %3 = plan.launch @k(%2) symbols [#graph.dim<"a">, #graph.dim<"b">] {graph.dims = [[#graph.dim<"a">]]} : (tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// -----

// Two values in succession at one offset, neither of which is larger for all symbols: a value above
// both starts at a level, the maximum of both sizes.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = #graph.dim<"$0 + 64*floordiv(4*a + 63, 64)">, plan.arena_levels = [#graph.dim<"max(4096*a, 4096*b)">]
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"a">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"b">]}) -> tensor<?xf32> {
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %0 = plan.launch @k(%x) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">, 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, "$0">]
  %1 = plan.launch @k(%0) symbols [#graph.dim<"a">] {graph.dims = [[#graph.dim<"a">]]} : (tensor<?x1024xf32>) -> tensor<?xf32>
  // CHECK: plan.buffers = [#plan.buffer<arena, 0>]
  %2 = plan.launch @k(%y) symbols [#graph.dim<"b">] {graph.dims = [[#graph.dim<"b">, 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %3 = plan.launch @k(%1, %2) symbols [#graph.dim<"a">, #graph.dim<"b">] {graph.dims = [[#graph.dim<"a">]]} : (tensor<?xf32>, tensor<?x1024xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
