// The pass follows the fusion_group numbers, including hand-written ones.
// RUN: hewn-opt %s --hewn-form-fusion-groups | FileCheck %s

// The pass moves a splat constant into the fusion group that reads it; other operands stay
// operands. The group comes at the position of its last op and has the reason for the fusion as an
// attribute.
// CHECK-LABEL: func.func @one
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK: %[[OTHER:.*]] = graph.group(%[[Y]])
// CHECK: %[[G:.*]] = graph.group(%[[X]], %[[OTHER]])
// CHECK-SAME: why = "by hand"
// CHECK: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK: %[[TWO:.*]] = graph.constant
// CHECK: %[[M:.*]] = graph.mul %[[A]], %[[TWO]]
// CHECK-NOT: fusion_group
// CHECK: %[[S:.*]] = graph.add %[[M]], %[[B]]
// CHECK: graph.yield %[[S]]
// CHECK: return %[[G]]
func.func @one(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %c = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = graph.mul %x, %c {graph.fusion_group = 0} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.neg %y {graph.fusion_group = 1} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.add %0, %1 {graph.fusion_group = 0, graph.why = "by hand"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Those values of a fusion group that have users outside of it become results of the group, with
// their dims.
// CHECK-LABEL: func.func @results
// CHECK: %[[G:.*]]:2 = graph.group(%{{.*}}) {{.*}}graph.dims = {{\[\[}}#graph.dim<"n">], [#graph.dim<"n">]]
// CHECK: graph.yield %[[A:.*]], %[[C:.*]] :
// CHECK: return %[[G]]#0, %[[G]]#1
func.func @results(%x: tensor<?xf32> {graph.dims = [#graph.dim<"n">]}) -> (tensor<?xf32>, tensor<?xf32>) {
  %0 = graph.neg %x {graph.dims = [[#graph.dim<"n">]], graph.fusion_group = 0} : (tensor<?xf32>) -> tensor<?xf32>
  %1 = graph.exp %0 {graph.dims = [[#graph.dim<"n">]], graph.fusion_group = 0} : (tensor<?xf32>) -> tensor<?xf32>
  %2 = graph.relu %1 {graph.dims = [[#graph.dim<"n">]], graph.fusion_group = 0} : (tensor<?xf32>) -> tensor<?xf32>
  return %0, %2 : tensor<?xf32>, tensor<?xf32>
}

// The pass keeps an op without a fusion_group number outside of all groups.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: graph.group
// CHECK: graph.neg
// CHECK-NOT: graph.group
// CHECK: return
func.func @left_alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
