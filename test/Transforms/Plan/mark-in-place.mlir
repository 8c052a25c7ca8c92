// RUN: hewn-opt %s --hewn-mark-in-place | FileCheck %s
// RUN: hewn-opt %s --hewn-mark-in-place --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="result not written in place: a kernel of two contractions reads its inputs more than once"
// REMARK-DAG: Reason="result not written in place: no input has the result's size and layout and is read at the result's index only"
// REMARK-DAG: Reason="result not written in place: a kernel with reductions or prefix scans reads its inputs more than once"
// REMARK-DAG: Reason="result not written in place: the kernel has several results"

plan.kernel @add(%a: tensor<8xf32>, %b: tensor<1xf32>, %c: tensor<8xf32>) -> tensor<8xf32> attributes {symbols = []} {
  %0 = graph.add %a, %b : (tensor<8xf32>, tensor<1xf32>) -> tensor<8xf32>
  %1 = graph.mul %0, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.yield %1 : tensor<8xf32>
}
plan.kernel @turn(%a: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.transpose %a {order = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
// The epilogue's addend may be overwritten, but neither operand of the matmul, and no value that is
// read for another element too.
plan.kernel @residual(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>, %d: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.matmul %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.add %0, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.transpose %d {order = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = graph.add %1, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %3 : tensor<4x4xf32>
}
plan.kernel @chain(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.matmul %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.matmul %0, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.add %1, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %2 : tensor<4x4xf32>
}
plan.kernel @softmax(%a: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %a {dims = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %1 = graph.sub %a, %0 : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  graph.yield %1 : tensor<4x4xf32>
}
plan.kernel @two(%a: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {symbols = []} {
  %0 = graph.exp %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8xf32>, %w: tensor<1xf32>, %m: tensor<4x4xf32>) -> (tensor<8xf32>, tensor<4x4xf32>) {
  // CHECK: plan.launch @add{{.*}}plan.may_overwrite = array<i64: 0, 2>
  %0 = plan.launch @add(%x, %w, %x) symbols [] : (tensor<8xf32>, tensor<1xf32>, tensor<8xf32>) -> tensor<8xf32>
  // CHECK: plan.launch @turn
  // CHECK-NOT: may_overwrite
  %1 = plan.launch @turn(%m) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: plan.launch @residual{{.*}}plan.may_overwrite = array<i64: 2>
  %2 = plan.launch @residual(%m, %m, %1, %m) symbols [] : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: plan.launch @chain
  // CHECK-NOT: may_overwrite
  %3 = plan.launch @chain(%m, %m, %2) symbols [] : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: plan.launch @softmax
  // CHECK-NOT: may_overwrite
  %4 = plan.launch @softmax(%3) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: plan.launch @two
  // CHECK-NOT: may_overwrite
  %5:2 = plan.launch @two(%4) symbols [] : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return %0, %1 : tensor<8xf32>, tensor<4x4xf32>
}
