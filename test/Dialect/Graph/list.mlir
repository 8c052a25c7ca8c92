// RUN: hewn-opt %s --split-input-file --verify-diagnostics | FileCheck %s
// Lists whose length is known only at run time, for ONNX's sequences.

// CHECK-LABEL: func.func @collect
// CHECK: graph.list_insert {{.*}} -> tensor<!handle.sequence<f32, 1>>
// CHECK: graph.list_dims {{.*}} -> tensor<1xi64>
// CHECK: graph.list_at {{.*}} -> tensor<?xf32>
func.func @collect(%x: tensor<3xf32>, %at: tensor<i64>) -> tensor<?xf32> {
  %0 = graph.list_make {to = !handle.sequence<f32, -2>, text = false} : () -> tensor<!handle.sequence<f32, -2>>
  %1 = graph.list_insert %0, %x, %at {to = !handle.sequence<f32, 1>, text = false} : (tensor<!handle.sequence<f32, -2>>, tensor<3xf32>, tensor<i64>) -> tensor<!handle.sequence<f32, 1>>
  %2 = graph.list_dims %1, %at {rank = 1 : i64} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<1xi64>
  graph.read_symbol "u0" = %2[0] : tensor<1xi64>
  %3 = graph.list_at %1, %at {shape = [#graph.dim<"u0">], of = f32, graph.dims = [[#graph.dim<"u0">]]} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}

// -----

func.func @no_list(%x: tensor<3xf32>) {
  // expected-error @below {{requires a list}}
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
  // expected-error @below {{requires a list, and positions as i64 scalars}}
  %0 = graph.list_split %x, %n {axis = 2 : i64, drop = false, to = !handle.sequence<f32, 2>, text = false} : (tensor<2x3xf32>, tensor<i64>) -> tensor<!handle.sequence<f32, 2>>
  return
}

// -----

// CHECK-LABEL: func.func @more
func.func @more(%l: tensor<!handle.sequence<f32, 1>>, %at: tensor<i64>, %x: tensor<2x3xf32>, %sizes: tensor<2xi64>, %bytes: tensor<9xui8>) {
  // CHECK: graph.retype %{{.*}} {to = !handle.sequence<f32, -1>} : (tensor<!handle.sequence<f32, 1>>) -> tensor<!handle.sequence<f32, -1>>
  %0 = graph.retype %l {to = !handle.sequence<f32, -1>} : (tensor<!handle.sequence<f32, 1>>) -> tensor<!handle.sequence<f32, -1>>
  // CHECK: graph.list_erase %{{.*}}, %{{.*}} {to = !handle.sequence<f32, 1>} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<!handle.sequence<f32, 1>>
  %1 = graph.list_erase %l, %at {to = !handle.sequence<f32, 1>} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<!handle.sequence<f32, 1>>
  // CHECK: graph.list_length %{{.*}} : (tensor<!handle.sequence<f32, 1>>) -> tensor<i64>
  %2 = graph.list_length %l : (tensor<!handle.sequence<f32, 1>>) -> tensor<i64>
  // CHECK: graph.list_joint_dims %{{.*}} {axis = 0 : i64, fresh = false, rank = 1 : i64} : (tensor<!handle.sequence<f32, 1>>) -> tensor<1xi64>
  %3 = graph.list_joint_dims %l {rank = 1, axis = 0, fresh = false} : (tensor<!handle.sequence<f32, 1>>) -> tensor<1xi64>
  // CHECK: graph.read_symbol "u0" = %{{.*}}[0] : tensor<1xi64>
  graph.read_symbol "u0" = %3[0] : tensor<1xi64>
  // CHECK: graph.list_join %{{.*}} {axis = 0 : i64, fresh = false, graph.dims = {{\[\[}}#graph.dim<"u0">{{\]\]}}, of = f32, shape = [#graph.dim<"u0">]} : (tensor<!handle.sequence<f32, 1>>) -> tensor<?xf32>
  %4 = graph.list_join %l {axis = 0, fresh = false, shape = [#graph.dim<"u0">], of = f32, graph.dims = [[#graph.dim<"u0">]]} : (tensor<!handle.sequence<f32, 1>>) -> tensor<?xf32>
  // CHECK: graph.list_split %{{.*}}, %{{.*}} {axis = 0 : i64, drop = false, text = false, to = !handle.sequence<f32, 2>} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<!handle.sequence<f32, 2>>
  %5 = graph.list_split %x, %sizes {axis = 0, drop = false, to = !handle.sequence<f32, 2>, text = false} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<!handle.sequence<f32, 2>>
  // CHECK: graph.image_decode %{{.*}} {format = 0 : i64, to = !handle.sequence<ui8, 3>} : (tensor<9xui8>) -> tensor<!handle.sequence<ui8, 3>>
  %6 = graph.image_decode %bytes {format = 0, to = !handle.sequence<ui8, 3>} : (tensor<9xui8>) -> tensor<!handle.sequence<ui8, 3>>
  return
}

// -----

func.func @no_list_made(%l: tensor<!handle.sequence<f32, 1>>, %at: tensor<i64>) {
  // expected-error @below {{makes lists, not 'f32'}}
  %0 = graph.list_erase %l, %at {to = f32} : (tensor<!handle.sequence<f32, 1>>, tensor<i64>) -> tensor<f32>
  return
}

// -----

func.func @dims_of_no_list(%x: tensor<3xf32>, %at: tensor<i64>) {
  // expected-error @below {{requires a list, a position as an i64 scalar, and a rank}}
  %0 = graph.list_dims %x, %at {rank = 1} : (tensor<3xf32>, tensor<i64>) -> tensor<1xi64>
  return
}

// -----

func.func @place(%l: tensor<!handle.sequence<f32, 1>>, %at: tensor<2xi64>) {
  // expected-error @below {{requires a list, a position as an i64 scalar, and dims}}
  %0 = graph.list_at %l, %at {shape = [3], of = f32} : (tensor<!handle.sequence<f32, 1>>, tensor<2xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @joint_axis(%l: tensor<!handle.sequence<f32, 1>>) {
  // expected-error @below {{takes a list, a rank and an axis within it}}
  %0 = graph.list_joint_dims %l {rank = 1, axis = 1, fresh = false} : (tensor<!handle.sequence<f32, 1>>) -> tensor<1xi64>
  return
}

// -----

func.func @format(%bytes: tensor<9xui8>) {
  // expected-error @below {{takes bytes, and a format of 0, 1 or 2}}
  %0 = graph.image_decode %bytes {format = 3, to = !handle.sequence<ui8, 3>} : (tensor<9xui8>) -> tensor<!handle.sequence<ui8, 3>>
  return
}
