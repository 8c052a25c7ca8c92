// Groups become kernels and launches; equal kernels are merged, whatever their weights and symbols
// are called.
// RUN: hewn-opt %s --split-input-file --hewn-outline-kernels | FileCheck %s

// The pass gives no kernel the name of a C library function, because the linker would confuse them.
// CHECK: plan.kernel @exp_kernel
// CHECK: plan.kernel @add_relu(%{{.*}}: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}, %{{.*}}: tensor<1xf32>) -> tensor<?xf32>
// CHECK-SAME: symbols = ["s0"]
// CHECK-NOT: plan.kernel

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?xf32> {graph.dims = [#graph.dim<"batch">]}, %y: tensor<?xf32> {graph.dims = [#graph.dim<"2*seq">]}, %v: tensor<1xf32>, %w: tensor<1xf32>)
    -> (tensor<?xf32>, tensor<?xf32>, tensor<4xf32>) {
  // CHECK: plan.launch @add_relu(%{{.*}}, %{{.*}}) symbols [#graph.dim<"batch">] {graph.dims = {{\[\[}}#graph.dim<"batch">{{\]\]}}}
  %0 = graph.group(%x, %v) attributes {graph.dims = [[#graph.dim<"batch">]], graph.region_dims = [[[#graph.dim<"batch">], [1]]]} {
  ^bb0(%a: tensor<?xf32>, %b: tensor<1xf32>):
    %1 = graph.add %a, %b {graph.dims = [[#graph.dim<"batch">]]} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
    %2 = graph.relu %1 {graph.dims = [[#graph.dim<"batch">]]} : (tensor<?xf32>) -> tensor<?xf32>
    graph.yield %2 : tensor<?xf32>
  } : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  // CHECK: plan.launch @add_relu{{.*}} symbols [#graph.dim<"seq">]
  %3 = graph.group(%x, %w) attributes {graph.dims = [[#graph.dim<"seq">]], graph.region_dims = [[[#graph.dim<"seq">], [1]]]} {
  ^bb0(%a: tensor<?xf32>, %b: tensor<1xf32>):
    %1 = graph.add %a, %b {graph.dims = [[#graph.dim<"seq">]]} : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
    %2 = graph.relu %1 {graph.dims = [[#graph.dim<"seq">]]} : (tensor<?xf32>) -> tensor<?xf32>
    graph.yield %2 : tensor<?xf32>
  } : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
  %c = graph.constant {value = dense<1.0> : tensor<4xf32>} : tensor<4xf32>
  // CHECK: plan.launch @exp_kernel
  %4 = graph.group(%c) {
  ^bb0(%a: tensor<4xf32>):
    %5 = graph.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %5 : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %3, %4 : tensor<?xf32>, tensor<?xf32>, tensor<4xf32>
}

// The pass keeps ops outside of fusion groups.
// CHECK-LABEL: func.func @left_alone
// CHECK: graph.neg
// CHECK-NOT: plan.launch
func.func @left_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Groups that differ only in a constant share a kernel with the constant as argument; an equal
// constant stays inside.
// CHECK: plan.kernel @mul_add(%[[X:.*]]: tensor<4xf32>, %[[S:.*]]: tensor<f32>)
// CHECK-NEXT: graph.constant {value = dense<1.000000e+00> : tensor<f32>}
// CHECK-NOT: plan.kernel
// CHECK-LABEL: func.func @scales
// CHECK: plan.launch @mul_add(%arg0, %[[TWO:.*]]) symbols
// CHECK: plan.launch @mul_add(%{{.*}}, %{{.*}}) symbols
func.func @scales(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.group(%x) {
  ^bb0(%a: tensor<4xf32>):
    %s = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
    %o = graph.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
    %m = graph.mul %a, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %n = graph.add %m, %o : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.group(%0) {
  ^bb0(%a: tensor<4xf32>):
    %s = graph.constant {value = dense<3.0> : tensor<f32>} : tensor<f32>
    %o = graph.constant {value = dense<1.0> : tensor<f32>} : tensor<f32>
    %m = graph.mul %a, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %n = graph.add %m, %o : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
