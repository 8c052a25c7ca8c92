// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Lists that only a run knows.

// CHECK-LABEL: func.func @collect
// CHECK: graph.list_insert {{.*}} -> tensor<!handle.sequence<f32, 1>>
// CHECK: graph.list_dims {{.*}} -> tensor<1xi64>
// CHECK: graph.list_at {{.*}} -> tensor<?xf32>
func.func @collect(%x: tensor<3xf32>, %at: tensor<i64>) -> tensor<?xf32> {
  %0 = graph.list_make {to = !handle.sequence<f32, -2>, text = false} : () -> tensor<!handle.sequence<f32, -2>>
  %1 = graph.list_insert %0, %x, %at {to = !handle.sequence<f32, 1>, text = false} : (tensor<!handle.sequence<f32, -2>>, tensor<3xf32>, tensor<i64>) -> tensor<!handle.sequence<f32, 1>>
  %2 = graph.list_dims %1, %at {rank = 1 : i64} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<1xi64>
  graph.read_symbol "u0" = %2[0] : tensor<1xi64>
  %3 = graph.list_at %1, %at {shape = ["u0"], of = f32, graph.dims = [["u0"]]} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// -----

func.func @no_list(%x: tensor<3xf32>) {
  // expected-error @below {{takes a list}}
  %0 = graph.list_length %x : (tensor<3xf32>) -> tensor<i64>
  return
}

// -----

func.func @no_handle(%x: tensor<3xf32>) {
  // expected-error @below {{takes and gives handles or i64}}
  %0 = graph.retype %x {to = i64} : (tensor<3xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @axis(%x: tensor<2x3xf32>, %n: tensor<i64>) {
  // expected-error @below {{takes a list, and places as single i64s}}
  %0 = graph.list_split %x, %n {axis = 2 : i64, drop = false, to = !handle.sequence<f32, 2>, text = false} : (tensor<2x3xf32>, tensor<i64>) -> tensor<!handle.sequence<f32, 2>>
  return
}
