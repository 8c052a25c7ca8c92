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

// Products of unlike symbols are sections of their own: neither is larger than the other for all values. Sizes with a
// small factor are rounded up as a whole, after them.
// CHECK-LABEL: func.func @main
// CHECK-SAME: plan.arena_bytes = "4096*a + 4096*b + 64*floordiv(4*a + 63, 64)"
func.func private @k()
func.func @main(%x: tensor<?xf32> {graph.dims = ["a"]}, %y: tensor<?xf32> {graph.dims = ["b"]}) -> tensor<?xf32> {
  // CHECK: plan.places = [#plan.place<"arena", 0 : i64>]
  %0 = plan.launch @k(%x) symbols ["a"] {graph.dims = [["a", 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  // CHECK: plan.places = [#plan.place<"arena", "4096*a + 4096*b">]
  %1 = plan.launch @k(%0) symbols ["a"] {graph.dims = [["a"]]} : (tensor<?x1024xf32>) -> tensor<?xf32>
  // CHECK: plan.places = [#plan.place<"arena", "4096*a">]
  %2 = plan.launch @k(%y) symbols ["b"] {graph.dims = [["b", 1024]]} : (tensor<?xf32>) -> tensor<?x1024xf32>
  %3 = plan.launch @k(%1, %2) symbols ["a", "b"] {graph.dims = [["a"]]} : (tensor<?xf32>, tensor<?x1024xf32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
