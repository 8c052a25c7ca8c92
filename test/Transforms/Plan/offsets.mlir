// Intervals into one arena: the larger ones first, each at the lowest place that is free while it lives.
// RUN: hewn-opt %s --split-input-file --hewn-plan-memory --hewn-verify-plan --mlir-print-local-scope | FileCheck %s

// The largest goes to the bottom, whenever it is made; the small ones lie above it, or in its place when it is dead.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = 4224 : i64, plan.max_live = 4224 : i64
func.func private @k()
func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  // CHECK: plan.places = [#plan.place<"arena", [[SMALL:4096|4160]] : i64>]
  %0 = plan.launch @k(%x) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  // CHECK: plan.places = [#plan.place<"arena", 0 : i64>]
  %1 = plan.launch @k(%0) symbols [] : (tensor<16xf32>) -> tensor<1024xf32>
  // CHECK: plan.places = [#plan.place<"arena", {{4096|4160}} : i64>]
  %2 = plan.launch @k(%0, %1) symbols [] : (tensor<16xf32>, tensor<1024xf32>) -> tensor<16xf32>
  // CHECK: plan.places = [#plan.place<"arena", 0 : i64>]
  %3 = plan.launch @k(%2, %0) symbols [] : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %4 = plan.launch @k(%3) symbols [] : (tensor<16xf32>) -> tensor<16xf32>
  return %4 : tensor<16xf32>
}

// -----

// Here the largest first, the longest first and the largest times longest first all leave holes (1152 bytes and more); the
// search finds the packing that has none.
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

// With symbols, each lies on what it must lie on.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = "4096*a + 4096*b + 64*floordiv(4*a + 63, 64)"
// CHECK-NOT: plan.arena_levels
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = ["a"]}, %y: tensor<?xf32> {graph.dims = ["b"]}) -> tensor<?xf32> {
  %0 = plan.launch @k(%x) symbols ["a"] {graph.dims = [["a", 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %1 = plan.launch @k(%y) symbols ["b"] {graph.dims = [["b", 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %2 = plan.launch @k(%0, %1) symbols ["a"] {graph.dims = [["a"]]} : (tensor<?x1024xf32>, tensor<?x1024xf32>) -> tensor<?xf32>
  %3 = plan.launch @k(%2) symbols ["a", "b"] {graph.dims = [["a"]]} : (tensor<?xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// -----

// One after the other in one place, neither of which is larger than the other for all values: what lies on both lies on a
// level, the larger one's size.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = "$0 + 64*floordiv(4*a + 63, 64)", plan.arena_levels = ["max(4096*a, 4096*b)"]
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = ["a"]}, %y: tensor<?xf32> {graph.dims = ["b"]}) -> tensor<?xf32> {
  // CHECK: plan.places = [#plan.place<"arena", 0 : i64>]
  %0 = plan.launch @k(%x) symbols ["a"] {graph.dims = [["a", 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  // CHECK: plan.places = [#plan.place<"arena", "$0">]
  %1 = plan.launch @k(%0) symbols ["a"] {graph.dims = [["a"]]} : (tensor<?x1024xf32>) -> tensor<?xf32>
  // CHECK: plan.places = [#plan.place<"arena", 0 : i64>]
  %2 = plan.launch @k(%y) symbols ["b"] {graph.dims = [["b", 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %3 = plan.launch @k(%1, %2) symbols ["a", "b"] {graph.dims = [["a"]]} : (tensor<?xf32>, tensor<?x1024xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
