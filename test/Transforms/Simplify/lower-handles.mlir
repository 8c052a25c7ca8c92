// Handles are lowered to integers; the function's attributes keep the types for callers, and
// nothing else changes.
// RUN: hewn-opt %s --split-input-file --hewn-lower-handles | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<2xi64> {handle.held = "!handle.string"}, %[[S:.*]]: tensor<i64> {handle.held = "!handle.sequence<f32, 1>"}
// CHECK-SAME: -> (tensor<3x2xi64> {handle.held = "!handle.string"}, tensor<i64> {handle.held = "!handle.optional_sequence<f32, 1>"}, tensor<2xi1>)
// CHECK-NOT: graph.retype
// CHECK: graph.expand %[[X]] {{.*}} -> tensor<3x2xi64>
// CHECK: graph.if {{.*}} {
// CHECK: graph.list_erase %[[S]], {{.*}} {to = i64} : (tensor<i64>, tensor<i64>) -> tensor<i64>
// CHECK: } : (tensor<i1>) -> tensor<i64>
func.func @main(%x: tensor<2x!handle.string>, %s: tensor<!handle.sequence<f32, 1>>, %c: tensor<i1>)
    -> (tensor<3x2x!handle.string>, tensor<!handle.optional_sequence<f32, 1>>, tensor<2xi1>) {
  %0 = graph.expand %x {shape = [3, 2]} : (tensor<2x!handle.string>) -> tensor<3x2x!handle.string>
  %1 = graph.text_equal %x, %x : (tensor<2x!handle.string>, tensor<2x!handle.string>) -> tensor<2xi1>
  %2 = graph.if %c {
    %3 = graph.constant {value = dense<0> : tensor<i64>} : tensor<i64>
    %4 = graph.list_erase %s, %3 {to = !handle.sequence<f32, 1>} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<!handle.sequence<f32, 1>>
    %5 = graph.retype %4 {to = !handle.optional_sequence<f32, 1>} : (tensor<!handle.sequence<f32, 1>>) -> tensor<!handle.optional_sequence<f32, 1>>
    graph.yield %5 : tensor<!handle.optional_sequence<f32, 1>>
  } else {
    %6 = graph.constant {value = dense<0> : tensor<i64>} : tensor<i64>
    %7 = graph.retype %6 {to = !handle.optional_sequence<f32, 1>} : (tensor<i64>) -> tensor<!handle.optional_sequence<f32, 1>>
    graph.yield %7 : tensor<!handle.optional_sequence<f32, 1>>
  } : (tensor<i1>) -> tensor<!handle.optional_sequence<f32, 1>>
  return %0, %2, %1 : tensor<3x2x!handle.string>, tensor<!handle.optional_sequence<f32, 1>>, tensor<2xi1>
}

// -----

// The pass does not change values of numeric types.
// CHECK-LABEL: func.func @numbers(%{{.*}}: tensor<2xi64>) -> tensor<2xi64> {
func.func @numbers(%x: tensor<2xi64>) -> tensor<2xi64> {
  return %x : tensor<2xi64>
}
