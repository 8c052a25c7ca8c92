// RUN: hewn-opt %s --hewn-gather-before-dequantize | FileCheck %s
// RUN: hewn-opt %s --hewn-gather-before-dequantize --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: NotNarrow | {{.*}}Reason="its table is small"
// REMARK: NotNarrow | {{.*}}Reason="the operands of its dequantization have no fewer bits"
// REMARK: NotNarrow | {{.*}}Reason="the table is not constant"
// REMARK: NotNarrow | {{.*}}Reason="elements of less than a byte cannot be gathered"
// REMARK: NotNarrow | {{.*}}Reason="its table has one row"

// CHECK-LABEL: @rows
// CHECK-DAG: %[[Q:.*]] = graph.constant {value = dense<3>
// CHECK-DAG: %[[S:.*]] = graph.constant {value = dense<5.000000e-01>
// CHECK-DAG: %[[R:.*]] = graph.gather %[[Q]], %arg0 {axis = 0 : i64} : (tensor<300x64xi8>, tensor<2x3xi64>) -> tensor<2x3x64xi8>
// CHECK-DAG: %[[T:.*]] = graph.gather %[[S]], %arg0 {axis = 0 : i64} : (tensor<300x1xf32>, tensor<2x3xi64>) -> tensor<2x3x1xf32>
// CHECK: %[[Y:.*]] = graph.dequantize %[[R]], %[[T]]
// CHECK: return %[[Y]]
func.func @rows(%i: tensor<2x3xi64>) -> tensor<2x3x64xf32> {
  %q = graph.constant {value = dense<3> : tensor<300x64xi8>} : tensor<300x64xi8>
  %s = graph.constant {value = dense<0.5> : tensor<300x1xf32>} : tensor<300x1xf32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<300x64xi8>, tensor<300x1xf32>) -> tensor<300x64xf32>
  %y = graph.gather %w, %i {axis = 0 : i64} : (tensor<300x64xf32>, tensor<2x3xi64>) -> tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// A scale that is equal for all rows of the embedding table is broadcast to the selected rows.
// CHECK-LABEL: @columns
// CHECK-DAG: %[[S:.*]] = graph.constant {value = dense<5.000000e-01>
// CHECK-DAG: %[[V:.*]] = graph.reshape %[[S]] {{.*}} : (tensor<300x1xf32>) -> tensor<300x1x1xf32>
// CHECK: graph.mul %{{.*}}, %[[V]] : (tensor<300x2x3xf32>, tensor<300x1x1xf32>) -> tensor<300x2x3xf32>
func.func @columns(%i: tensor<2x3xi64>) -> tensor<300x2x3xf32> {
  %q = graph.constant {value = dense<3> : tensor<300x64xi8>} : tensor<300x64xi8>
  %s = graph.constant {value = dense<0.5> : tensor<300x1xf32>} : tensor<300x1xf32>
  %c = graph.cast %q {to = f32} : (tensor<300x64xi8>) -> tensor<300x64xf32>
  %w = graph.mul %c, %s : (tensor<300x64xf32>, tensor<300x1xf32>) -> tensor<300x64xf32>
  %y = graph.gather %w, %i {axis = 1 : i64} : (tensor<300x64xf32>, tensor<2x3xi64>) -> tensor<300x2x3xf32>
  return %y : tensor<300x2x3xf32>
}

// CHECK-LABEL: @small
// CHECK: graph.gather %{{.*}}, %arg0 {{.*}} : (tensor<30x64xf32>
func.func @small(%i: tensor<2x3xi64>) -> tensor<2x3x64xf32> {
  %q = graph.constant {value = dense<3> : tensor<30x64xi8>} : tensor<30x64xi8>
  %w = graph.cast %q {to = f32} : (tensor<30x64xi8>) -> tensor<30x64xf32>
  %y = graph.gather %w, %i {axis = 0 : i64} : (tensor<30x64xf32>, tensor<2x3xi64>) -> tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// Not rewritten: two integer tables of half the width are not smaller than the float table.
// CHECK-LABEL: @two
// CHECK: graph.gather %{{.*}}, %arg0 {{.*}} : (tensor<300x64xf32>
func.func @two(%i: tensor<2x3xi64>) -> tensor<2x3x64xf32> {
  %p = graph.constant {value = dense<3.0> : tensor<300x64xf16>} : tensor<300x64xf16>
  %q = graph.constant {value = dense<5.0> : tensor<300x64xf16>} : tensor<300x64xf16>
  %a = graph.cast %p {to = f32} : (tensor<300x64xf16>) -> tensor<300x64xf32>
  %b = graph.cast %q {to = f32} : (tensor<300x64xf16>) -> tensor<300x64xf32>
  %w = graph.add %a, %b : (tensor<300x64xf32>, tensor<300x64xf32>) -> tensor<300x64xf32>
  %y = graph.gather %w, %i {axis = 0 : i64} : (tensor<300x64xf32>, tensor<2x3xi64>) -> tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// CHECK-LABEL: @computed
// CHECK: graph.gather %{{.*}}, %arg0 {{.*}} : (tensor<300x64xf32>
func.func @computed(%i: tensor<2x3xi64>, %q: tensor<300x64xi8>) -> tensor<2x3x64xf32> {
  %w = graph.cast %q {to = f32} : (tensor<300x64xi8>) -> tensor<300x64xf32>
  %y = graph.gather %w, %i {axis = 0 : i64} : (tensor<300x64xf32>, tensor<2x3xi64>) -> tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// CHECK-LABEL: @nibbles
// CHECK: graph.gather %{{.*}}, %arg0 {{.*}} : (tensor<300x64xf32>
func.func @nibbles(%i: tensor<2x3xi64>) -> tensor<2x3x64xf32> {
  %q = graph.constant {value = dense<3> : tensor<300x64xi4>} : tensor<300x64xi4>
  %w = graph.cast %q {to = f32} : (tensor<300x64xi4>) -> tensor<300x64xf32>
  %y = graph.gather %w, %i {axis = 0 : i64} : (tensor<300x64xf32>, tensor<2x3xi64>) -> tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// Tests a Gather of a dynamic number of rows from a quantized table of one row.
// CHECK-LABEL: @one
// CHECK: graph.gather %{{.*}}, %arg0 {{.*}} : (tensor<1x20000xf32>
func.func @one(%i: tensor<?xi64> {graph.dims = [#graph.dim<"n">]}) -> tensor<?x20000xf32> {
  %q = graph.constant {value = dense<3> : tensor<1x20000xi8>} : tensor<1x20000xi8>
  %w = graph.cast %q {to = f32} : (tensor<1x20000xi8>) -> tensor<1x20000xf32>
  %y = graph.gather %w, %i {axis = 0 : i64, graph.dims = [[#graph.dim<"n">, 20000]]} : (tensor<1x20000xf32>, tensor<?xi64>) -> tensor<?x20000xf32>
  return %y : tensor<?x20000xf32>
}
