// Operands of a concat are computed as subviews of its result.
// RUN: hewn-opt %s --split-input-file --hewn-concat-in-place --mlir-print-local-scope | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-concat-in-place --hewn-plan-memory --hewn-verify-plan --mlir-print-local-scope | FileCheck %s --check-prefix=PLACE
// RUN: hewn-opt %s --split-input-file --hewn-concat-in-place --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="concat copies its operands: writing them in place would increase peak memory"
// REMARK-DAG: Reason="concat copies its operands: their offsets in the result are dynamic"
// REMARK-DAG: Reason="concat copies its operands: most of them have a user that needs contiguous memory (a return, a view, or the host)"
// REMARK-DAG: Reason="concat copies its operands: most of them have other users, for which strided reads would waste cache"

// Channels innermost: the rows of a subview have the stride of the full tensor, in its producers
// and users.
// CHECK: plan.kernel @relu({{.*}}) -> tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: plan.kernel @relu_{{[0-9]+}}(%{{.*}}: tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1] subview of 12 along 1>>) -> tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: plan.kernel @relu_{{[0-9]+}}({{.*}}) -> tensor<1x8x4x4xf32, #graph.layout<[0, 2, 3, 1] subview of 12 along 1>>
// CHECK: plan.kernel @exp_{{[0-9]+}}({{.*}}) -> tensor<1x4x4x4xf32, #graph.layout<[0, 2, 3, 1] subview of 12 along 1>>
// CHECK-NOT: @concat
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = plan.launch @relu_
// CHECK: %[[R:.*]] = plan.launch @relu_{{.*}}(%[[A]])
// CHECK: %[[B:.*]] = plan.launch @exp_
// CHECK: %[[C:.*]] = plan.assemble %[[A]], %[[B]] along 1
// CHECK: plan.launch @neg(%[[C]])
// The full tensor is live from its first subview on; the second subview is 8 floats after its
// start.
// PLACE-LABEL: func.func @main
// PLACE: plan.launch @relu_{{.*}}plan.buffers = [#plan.buffer<subview, 0>]
// PLACE: plan.launch @exp_{{.*}}plan.buffers = [#plan.buffer<subview, 32>]
// PLACE: plan.assemble {{.*}}plan.buffers = [#plan.buffer<arena, {{.*}}>]
#last = #graph.layout<[0, 2, 3, 1]>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
plan.kernel @relu(%x: tensor<1x8x4x4xf32, #last>) -> tensor<1x8x4x4xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<1x8x4x4xf32, #last>) -> tensor<1x8x4x4xf32, #last>
  graph.yield %0 : tensor<1x8x4x4xf32, #last>
}
plan.kernel @exp(%x: tensor<1x4x4x4xf32, #last>) -> tensor<1x4x4x4xf32, #last> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<1x4x4x4xf32, #last>) -> tensor<1x4x4x4xf32, #last>
  graph.yield %0 : tensor<1x4x4x4xf32, #last>
}
plan.kernel @neg(%x: tensor<1x12x4x4xf32, #last>) -> tensor<1x12x4x4xf32, #last> attributes {symbols = []} {
  %0 = graph.neg %x : (tensor<1x12x4x4xf32, #last>) -> tensor<1x12x4x4xf32, #last>
  graph.yield %0 : tensor<1x12x4x4xf32, #last>
}
plan.kernel @concat(%x: tensor<1x8x4x4xf32, #last>, %y: tensor<1x4x4x4xf32, #last>) -> tensor<1x12x4x4xf32, #last> attributes {symbols = []} {
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<1x8x4x4xf32, #last>, tensor<1x4x4x4xf32, #last>) -> tensor<1x12x4x4xf32, #last>
  graph.yield %0 : tensor<1x12x4x4xf32, #last>
}
func.func @main(%x: tensor<1x8x4x4xf32, #last>, %y: tensor<1x4x4x4xf32, #last>) -> (tensor<1x12x4x4xf32, #last>, tensor<1x8x4x4xf32, #last>, tensor<1x8x4x4xf32, #last>) {
  %0 = plan.launch @relu(%x) symbols [] : (tensor<1x8x4x4xf32, #last>) -> tensor<1x8x4x4xf32, #last>
  %1 = plan.launch @relu(%0) symbols [] : (tensor<1x8x4x4xf32, #last>) -> tensor<1x8x4x4xf32, #last>
  %2 = plan.launch @exp(%y) symbols [] : (tensor<1x4x4x4xf32, #last>) -> tensor<1x4x4x4xf32, #last>
  %3 = plan.launch @concat(%0, %2) symbols [] : (tensor<1x8x4x4xf32, #last>, tensor<1x4x4x4xf32, #last>) -> tensor<1x12x4x4xf32, #last>
  %4 = plan.launch @neg(%3) symbols [] : (tensor<1x12x4x4xf32, #last>) -> tensor<1x12x4x4xf32, #last>
  %5 = plan.launch @relu(%x) symbols [] : (tensor<1x8x4x4xf32, #last>) -> tensor<1x8x4x4xf32, #last>
  return %4, %1, %5 : tensor<1x12x4x4xf32, #last>, tensor<1x8x4x4xf32, #last>, tensor<1x8x4x4xf32, #last>
}
}

// -----

// Along the outermost dim subviews are contiguous, and kernels are unchanged. An operand that no
// kernel computes is copied, and the full tensor is the program's output.
// CHECK: plan.kernel @relayout(%{{.*}}: tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = plan.launch @exp(
// CHECK: %[[B:.*]] = plan.launch @relayout(
// CHECK: plan.assemble %[[A]], %[[B]] along 0
// PLACE-LABEL: func.func @main
// PLACE: plan.launch @exp{{.*}}#plan.buffer<subview, 0>
// PLACE: plan.launch @relayout{{.*}}#plan.buffer<subview, 48>
// PLACE: plan.assemble {{.*}}#plan.buffer<output, 0>
plan.kernel @exp(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  graph.yield %0 : tensor<3x4xf32>
}
plan.kernel @concat(%x: tensor<3x4xf32>, %y: tensor<1x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
func.func @main(%x: tensor<3x4xf32>, %y: tensor<1x4xf32>) -> tensor<4x4xf32> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = plan.launch @concat(%0, %y) symbols [] : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// Left alone: a strided subview that is returned, and one that would stay live while much else is
// live. (A subview with other users is left alone as well if the full tensor exceeds half of the
// cache.)
// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: plan.launch @concat(
// CHECK-NOT: plan.assemble
// CHECK: return
plan.kernel @exp(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
plan.kernel @wide(%x: tensor<4x4xf32>) -> tensor<400x4x4xf32> attributes {symbols = []} {
  %0 = graph.expand %x {shape = [400, 4, 4]} : (tensor<4x4xf32>) -> tensor<400x4x4xf32>
  graph.yield %0 : tensor<400x4x4xf32>
}
plan.kernel @narrow(%x: tensor<400x4x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %x {dims = array<i64: 0>, keepdims = false} : (tensor<400x4x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
plan.kernel @concat(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  graph.yield %0 : tensor<4x8xf32>
}
plan.kernel @exp_wide(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  graph.yield %0 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = plan.launch @exp(%0) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = plan.launch @concat(%0, %1) symbols [] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %3 = plan.launch @exp_wide(%2) symbols [] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = plan.launch @exp(%x) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = plan.launch @wide(%x) symbols [] : (tensor<4x4xf32>) -> tensor<400x4x4xf32>
  %6 = plan.launch @narrow(%5) symbols [] : (tensor<400x4x4xf32>) -> tensor<4x4xf32>
  %9 = plan.launch @exp(%6) symbols [] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = plan.launch @concat(%4, %9) symbols [] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %8 = plan.launch @exp_wide(%7) symbols [] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %3, %8 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: plan.launch @concat(
#last = #graph.layout<[0, 2, 3, 1]>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
plan.kernel @relu(%x: tensor<1x64x32x32xf32, #last>) -> tensor<1x64x32x32xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<1x64x32x32xf32, #last>) -> tensor<1x64x32x32xf32, #last>
  graph.yield %0 : tensor<1x64x32x32xf32, #last>
}
plan.kernel @concat(%x: tensor<1x64x32x32xf32, #last>, %y: tensor<1x64x32x32xf32, #last>) -> tensor<1x128x32x32xf32, #last> attributes {symbols = []} {
  %0 = graph.concat %x, %y {axis = 1 : i64} : (tensor<1x64x32x32xf32, #last>, tensor<1x64x32x32xf32, #last>) -> tensor<1x128x32x32xf32, #last>
  graph.yield %0 : tensor<1x128x32x32xf32, #last>
}
func.func @main(%x: tensor<1x64x32x32xf32, #last>) -> (tensor<1x128x32x32xf32, #last>, tensor<1x64x32x32xf32, #last>) {
  %0 = plan.launch @relu(%x) symbols [] : (tensor<1x64x32x32xf32, #last>) -> tensor<1x64x32x32xf32, #last>
  %1 = plan.launch @relu(%0) symbols [] : (tensor<1x64x32x32xf32, #last>) -> tensor<1x64x32x32xf32, #last>
  %2 = plan.launch @relu(%1) symbols [] : (tensor<1x64x32x32xf32, #last>) -> tensor<1x64x32x32xf32, #last>
  %3 = plan.launch @concat(%0, %1) symbols [] : (tensor<1x64x32x32xf32, #last>, tensor<1x64x32x32xf32, #last>) -> tensor<1x128x32x32xf32, #last>
  return %3, %2 : tensor<1x128x32x32xf32, #last>, tensor<1x64x32x32xf32, #last>
}
}

// -----

// The full tensor has another layout: a row-major operand is transposed while it is copied, and
// contiguous runs have no strides.
// CHECK: plan.kernel @relayout(%{{.*}}: tensor<1x4x6xf32>) -> tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @relayout(
// CHECK: plan.assemble %{{.*}} along 0
#turned = #graph.layout<[0, 2, 1]>
plan.kernel @exp(%x: tensor<3x4x6xf32, #turned>) -> tensor<3x4x6xf32, #turned> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4x6xf32, #turned>) -> tensor<3x4x6xf32, #turned>
  graph.yield %0 : tensor<3x4x6xf32, #turned>
}
plan.kernel @concat(%x: tensor<3x4x6xf32, #turned>, %y: tensor<1x4x6xf32>) -> tensor<4x4x6xf32, #turned> attributes {symbols = []} {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<3x4x6xf32, #turned>, tensor<1x4x6xf32>) -> tensor<4x4x6xf32, #turned>
  graph.yield %0 : tensor<4x4x6xf32, #turned>
}
func.func @main(%x: tensor<3x4x6xf32, #turned>, %y: tensor<1x4x6xf32>) -> tensor<4x4x6xf32, #turned> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4x6xf32, #turned>) -> tensor<3x4x6xf32, #turned>
  %1 = plan.launch @concat(%0, %y) symbols [] : (tensor<3x4x6xf32, #turned>, tensor<1x4x6xf32>) -> tensor<4x4x6xf32, #turned>
  return %1 : tensor<4x4x6xf32, #turned>
}

// -----

// An operand of a concat with very many users stays in its own buffer, and is copied to the result.
// CHECK-LABEL: func.func @main
// CHECK: %[[READ:.*]] = plan.launch @exp(
// CHECK: %[[COPY:.*]] = plan.launch @relayout(%[[READ]])
// CHECK: plan.assemble %[[COPY]],
// PLACE-LABEL: func.func @main
!t = tensor<4xf32>
plan.kernel @exp(%x: !t) -> !t attributes {symbols = []} {
  %0 = graph.exp %x : (!t) -> !t
  graph.yield %0 : !t
}
plan.kernel @concat(%x: !t, %y: !t) -> tensor<8xf32> attributes {symbols = []} {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (!t, !t) -> tensor<8xf32>
  graph.yield %0 : tensor<8xf32>
}
plan.kernel @many(%a0: !t, %a1: !t, %a2: !t, %a3: !t, %a4: !t, %a5: !t, %a6: !t, %a7: !t, %a8: !t, %a9: !t, %a10: !t, %a11: !t, %a12: !t, %a13: !t, %a14: !t, %a15: !t, %a16: !t, %a17: !t, %a18: !t, %a19: !t, %a20: !t, %a21: !t, %a22: !t, %a23: !t, %a24: !t, %a25: !t, %a26: !t, %a27: !t, %a28: !t, %a29: !t, %a30: !t, %a31: !t, %a32: !t) -> !t attributes {symbols = []} {
  %0 = graph.exp %a0 : (!t) -> !t
  graph.yield %0 : !t
}
func.func @main(%x: !t) -> (tensor<8xf32>, !t) {
  %0 = plan.launch @exp(%x) symbols [] : (!t) -> !t
  %1 = plan.launch @exp(%0) symbols [] : (!t) -> !t
  %2 = plan.launch @concat(%0, %1) symbols [] : (!t, !t) -> tensor<8xf32>
  %3 = plan.launch @many(%0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0, %0) symbols [] : (!t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t, !t) -> !t
  return %2, %3 : tensor<8xf32>, !t
}

// -----

// An interleaved operand is written at every second position of both dims, expressed by strides. An
// operand that is used twice is copied.
// CHECK-LABEL: plan.kernel @relu_
// CHECK-SAME: -> tensor<1x4x2x2xf32, strided<[64, 1, 32, 8]>>
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = plan.launch @relu_
// CHECK: %[[E:.*]] = plan.launch @exp(
// CHECK: %[[B:.*]] = plan.launch @relayout(%[[E]])
// CHECK: %[[C:.*]] = plan.launch @relayout(%[[E]])
// CHECK: %[[D:.*]] = plan.launch @relayout(%[[E]])
// CHECK: plan.assemble %[[A]], %[[B]], %[[C]], %[[D]] along 0 {plan.steps = array<i64: 1, 1, 2, 2>}
// PLACE-LABEL: func.func @main
// PLACE: plan.launch @relu_{{.*}}#plan.buffer<subview, 0>
// PLACE: plan.launch @relayout{{.*}}#plan.buffer<subview, 16>
// PLACE: plan.launch @relayout{{.*}}#plan.buffer<subview, 64>
// PLACE: plan.launch @relayout{{.*}}#plan.buffer<subview, 80>
#last = #graph.layout<[0, 2, 3, 1]>
plan.kernel @relu(%x: tensor<1x4x2x2xf32, #last>) -> tensor<1x4x2x2xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<1x4x2x2xf32, #last>) -> tensor<1x4x2x2xf32, #last>
  graph.yield %0 : tensor<1x4x2x2xf32, #last>
}
plan.kernel @exp(%x: tensor<1x4x2x2xf32, #last>) -> tensor<1x4x2x2xf32, #last> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<1x4x2x2xf32, #last>) -> tensor<1x4x2x2xf32, #last>
  graph.yield %0 : tensor<1x4x2x2xf32, #last>
}
plan.kernel @interleave(%x: tensor<1x4x2x2xf32, #last>, %y: tensor<1x4x2x2xf32, #last>) -> tensor<1x4x4x4xf32, #last> attributes {symbols = []} {
  %0 = graph.interleave %x, %y, %y, %y {shape = [1, 4, 4, 4], steps = array<i64: 1, 1, 2, 2>} : (tensor<1x4x2x2xf32, #last>, tensor<1x4x2x2xf32, #last>, tensor<1x4x2x2xf32, #last>, tensor<1x4x2x2xf32, #last>) -> tensor<1x4x4x4xf32, #last>
  graph.yield %0 : tensor<1x4x4x4xf32, #last>
}
func.func @main(%x: tensor<1x4x2x2xf32, #last>, %y: tensor<1x4x2x2xf32, #last>) -> tensor<1x4x4x4xf32, #last> {
  %0 = plan.launch @relu(%x) symbols [] : (tensor<1x4x2x2xf32, #last>) -> tensor<1x4x2x2xf32, #last>
  %1 = plan.launch @exp(%y) symbols [] : (tensor<1x4x2x2xf32, #last>) -> tensor<1x4x2x2xf32, #last>
  %2 = plan.launch @interleave(%0, %1) symbols [] : (tensor<1x4x2x2xf32, #last>, tensor<1x4x2x2xf32, #last>) -> tensor<1x4x4x4xf32, #last>
  return %2 : tensor<1x4x4x4xf32, #last>
}

// -----

// Not in place: the operand of the concat is longer than its part of the result.
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @interleave(
// CHECK-NOT: plan.assemble
// CHECK: return
plan.kernel @exp(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  graph.yield %0 : tensor<3x4xf32>
}
plan.kernel @interleave(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<5x4xf32> attributes {symbols = []} {
  %0 = graph.interleave %x, %y {shape = [5, 4], steps = array<i64: 2, 1>} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  graph.yield %0 : tensor<5x4xf32>
}
func.func @main(%x: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = plan.launch @exp(%0) symbols [] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %2 = plan.launch @interleave(%0, %1) symbols [] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// -----

// Not in place: the number of rows of a concat's operand depends on data.
// REMARK-DAG: Reason="concat copies its operands: the size of the result depends on data"
// CHECK-LABEL: func.func @main
// CHECK: plan.launch @concat
plan.kernel @spread(%x: tensor<4xf32>) -> tensor<?x4xf32> attributes {symbols = ["u0"]} {
  %0 = graph.expand %x {graph.dims = [[#graph.dim<"u0">, 4]], shape = [#graph.dim<"u0">, 4]} : (tensor<4xf32>) -> tensor<?x4xf32>
  graph.yield %0 : tensor<?x4xf32>
}
plan.kernel @exp(%x: tensor<?x4xf32> {graph.dims = [#graph.dim<"u0">, 4]}) -> tensor<?x4xf32> attributes {symbols = ["u0"]} {
  %0 = graph.exp %x {graph.dims = [[#graph.dim<"u0">, 4]]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  graph.yield %0 : tensor<?x4xf32>
}
plan.kernel @concat(%x: tensor<?x4xf32> {graph.dims = [#graph.dim<"u0">, 4]}, %y: tensor<?x4xf32> {graph.dims = [#graph.dim<"u0">, 4]}) -> tensor<?x8xf32> attributes {symbols = ["u0"]} {
  %0 = graph.concat %x, %y {axis = 1 : i64, graph.dims = [[#graph.dim<"u0">, 8]]} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  graph.yield %0 : tensor<?x8xf32>
}
func.func @main(%x: tensor<4xf32>, %n: tensor<1xi64>) -> tensor<?x8xf32> {
  graph.read_symbol "u0" = %n[0] : tensor<1xi64>
  %e = plan.launch @spread(%x) symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">, 4]]} : (tensor<4xf32>) -> tensor<?x4xf32>
  %0 = plan.launch @exp(%e) symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">, 4]]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = plan.launch @exp(%0) symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">, 4]]} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %2 = plan.launch @concat(%0, %1) symbols [#graph.dim<"u0">] {graph.dims = [[#graph.dim<"u0">, 8]]} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// -----

// REMARK-DAG: Reason="concat copies its operands: most of them are inputs, constants, or produced outside of the loop"
plan.kernel @exp(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  graph.yield %0 : tensor<1x4xf32>
}
plan.kernel @concat(%a0: tensor<3x4xf32>, %a1: tensor<1x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.concat %a0, %a1 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
func.func @main(%x: tensor<3x4xf32>, %y: tensor<1x4xf32>) -> tensor<4x4xf32> {
  %0 = plan.launch @exp(%y) symbols [] : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = plan.launch @concat(%x, %0) symbols [] : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// REMARK-DAG: Reason="concat copies its operands: most of them are produced in another layout"
plan.kernel @exp(%x: tensor<3x4x6xf32>) -> tensor<3x4x6xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  graph.yield %0 : tensor<3x4x6xf32>
}
plan.kernel @turned(%x: tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>
  graph.yield %0 : tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>
}
plan.kernel @concat(%a0: tensor<3x4x6xf32>, %a1: tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<4x4x6xf32, #graph.layout<[0, 2, 1]>> attributes {symbols = []} {
  %0 = graph.concat %a0, %a1 {axis = 0 : i64} : (tensor<3x4x6xf32>, tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<4x4x6xf32, #graph.layout<[0, 2, 1]>>
  graph.yield %0 : tensor<4x4x6xf32, #graph.layout<[0, 2, 1]>>
}
func.func @main(%x: tensor<3x4x6xf32>, %y: tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<4x4x6xf32, #graph.layout<[0, 2, 1]>> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4x6xf32>) -> tensor<3x4x6xf32>
  %1 = plan.launch @turned(%y) symbols [] : (tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>
  %2 = plan.launch @concat(%0, %1) symbols [] : (tensor<3x4x6xf32>, tensor<1x4x6xf32, #graph.layout<[0, 2, 1]>>) -> tensor<4x4x6xf32, #graph.layout<[0, 2, 1]>>
  return %2 : tensor<4x4x6xf32, #graph.layout<[0, 2, 1]>>
}

// -----

// REMARK-DAG: Reason="concat copies its operands: most of them are operands of another concat, repeated, or have many users"
plan.kernel @exp(%x: tensor<3x4xf32>) -> tensor<3x4xf32> attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  graph.yield %0 : tensor<3x4xf32>
}
plan.kernel @concat(%a0: tensor<3x4xf32>, %a1: tensor<3x4xf32>) -> tensor<6x4xf32> attributes {symbols = []} {
  %0 = graph.concat %a0, %a1 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  graph.yield %0 : tensor<6x4xf32>
}
func.func @main(%x: tensor<3x4xf32>) -> tensor<6x4xf32> {
  %0 = plan.launch @exp(%x) symbols [] : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = plan.launch @concat(%0, %0) symbols [] : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// -----

// REMARK-DAG: Reason="concat copies its operands: most of them are forwarded inputs or repeated results of their kernel"
plan.kernel @two(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) attributes {symbols = []} {
  %0 = graph.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  graph.yield %0, %0 : tensor<3x4xf32>, tensor<3x4xf32>
}
plan.kernel @concat(%a0: tensor<3x4xf32>, %a1: tensor<1x4xf32>) -> tensor<4x4xf32> attributes {symbols = []} {
  %0 = graph.concat %a0, %a1 {axis = 0 : i64} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  graph.yield %0 : tensor<4x4xf32>
}
func.func @main(%x: tensor<3x4xf32>, %y: tensor<1x4xf32>) -> (tensor<4x4xf32>, tensor<3x4xf32>) {
  %0:2 = plan.launch @two(%x) symbols [] : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>)
  %1 = plan.launch @concat(%0#0, %y) symbols [] : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %1, %0#1 : tensor<4x4xf32>, tensor<3x4xf32>
}
