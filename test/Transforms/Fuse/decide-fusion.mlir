// Which ops are fused into one kernel, with the reason, and which ops stay separate.
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion=fuse=false | FileCheck %s --check-prefix=ALONE
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="a contraction reads each element of its operands many times, so they are not recomputed in its kernel"
// REMARK-DAG: Reason="only elementwise ops fuse into the epilogue of a contraction"
// REMARK-DAG: Reason="the producer transposes its input, and a row-wise kernel would repeat that in every pass over a row"
// REMARK-DAG: Reason="another op uses a result of one of the two kernels before this op"
// REMARK-DAG: Reason="the contraction reads each element of the producer many times"
// REMARK-DAG: Reason="packing elements into groups for dot-product instructions needs a kernel of its own"

// The pass fuses elementwise ops with the same dims.
// CHECK-LABEL: func.func @chain
// ALONE-LABEL: func.func @chain
func.func @chain(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: graph.add {{.*}}graph.fusion_group = 0 : i64, graph.why = "elementwise ops with the same dims"
  // ALONE: graph.add {{.*}}graph.fusion_group = 0
  %0 = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.relu {{.*}}graph.fusion_group = 0
  // ALONE: graph.relu {{.*}}graph.fusion_group = 1
  %1 = graph.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// Elementwise ops after a contraction are its epilogue; a second contraction is another kernel.
// CHECK-LABEL: func.func @contract
func.func @contract(%x: tensor<4x8xf32>, %v: tensor<8x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 0 : i64, graph.why = "elementwise ops on the accumulators of a contraction"
  %0 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.add {{.*}}graph.fusion_group = 0
  %1 = graph.add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.tanh {{.*}}graph.fusion_group = 0
  %2 = graph.tanh %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 1
  %3 = graph.matmul %2, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// Reductions over the same dims, their producers and their users are passes over one row.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x512xf32>, %s: tensor<f32>) -> tensor<4x512xf32> {
  // CHECK: graph.mul {{.*}}graph.fusion_group = 0
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 0
  // CHECK: graph.sub {{.*}}graph.fusion_group = 0
  // CHECK: graph.exp {{.*}}graph.fusion_group = 0
  // CHECK: graph.reduce_sum {{.*}}graph.fusion_group = 0
  // CHECK: graph.div {{.*}}graph.fusion_group = 0 : i64, graph.why = "{{.*}}row-wise ops of one kernel
  %0 = graph.mul %x, %s : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %2 = graph.sub %0, %1 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  %3 = graph.exp %2 : (tensor<4x512xf32>) -> tensor<4x512xf32>
  %4 = graph.reduce_sum %3 {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %5 = graph.div %3, %4 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  return %5 : tensor<4x512xf32>
}

// -----

// Two reductions of one tensor whose results are combined: both are passes over the rows.
// CHECK-LABEL: func.func @two_reductions
func.func @two_reductions(%x: tensor<4x512xf32>, %s: tensor<f32>) -> tensor<4x512xf32> {
  // CHECK: graph.reduce_min {{.*}}graph.fusion_group = 0
  // CHECK: graph.mul {{.*}}graph.fusion_group = 0
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 0
  // CHECK: graph.add {{.*}}graph.fusion_group = 0
  // CHECK: graph.sub {{.*}}graph.fusion_group = 0
  // CHECK: graph.div {{.*}}graph.fusion_group = 0
  %0 = graph.reduce_min %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %1 = graph.mul %0, %s : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %2 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %3 = graph.add %2, %s : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.sub %3, %1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.div %x, %4 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  return %5 : tensor<4x512xf32>
}

// -----

// Two reductions over different dims are not fused, because they have no row in common.
// CHECK-LABEL: func.func @other_rows
func.func @other_rows(%x: tensor<64x512xf32>) -> tensor<1x1xf32> {
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 0
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 1
  %1 = graph.reduce_max %0 {dims = array<i64: 0>} : (tensor<64x1xf32>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

// -----

// A broadcast recomputes its operand for each element: cheap ops are fused, an exponential is not.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<4x8xf32>, %c: tensor<1x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: graph.neg {{.*}}graph.fusion_group = 0
  %0 = graph.neg %c : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: graph.add {{.*}}graph.fusion_group = 0 : i64, graph.why = "a cheap broadcast operand"
  %1 = graph.add %x, %0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.exp {{.*}}graph.fusion_group = 1
  %2 = graph.exp %c : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: graph.add {{.*}}graph.fusion_group = 2
  %3 = graph.add %x, %2 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A contraction's operand is stored in memory, even if the epilogue reads it too.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // CHECK: graph.relu {{.*}}graph.fusion_group = 0
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 1
  %1 = graph.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.add {{.*}}graph.fusion_group = 1
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A fusion group runs at the position of its last op. The negation can't be fused with the add that
// uses it: the matmul needs it before.
// CHECK-LABEL: func.func @cycle
func.func @cycle(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: graph.neg {{.*}}graph.fusion_group = 0
  %0 = graph.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 1
  %1 = graph.matmul %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 2
  %2 = graph.reduce_max %1 {dims = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  // CHECK: graph.add {{.*}}graph.fusion_group = 2
  %3 = graph.add %0, %2 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// An indexing op in a fused kernel reads its operand in place. Views and constants get no kernels.
// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<64xf32>) {
  // CHECK: graph.constant
  // CHECK-NOT: fusion_group
  // CHECK: graph.add {{.*}}graph.fusion_group = 0 : i64, graph.why = "an indexing op reads its operand directly (no copy)"
  %c = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = graph.add %x, %c : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  // CHECK: graph.slice {{.*}}graph.fusion_group = 0
  %1 = graph.slice %0 {offsets = [4, 0], sizes = [4, 8], steps = array<i64: 1, 1>} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.reshape
  // CHECK-NOT: fusion_group
  // CHECK: return
  %2 = graph.reshape %x {shape = [64]} : (tensor<8x8xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<64xf32>
}

// -----

// Packed low-bit weights are dequantized in the GEMM's kernel.
// CHECK-LABEL: func.func @decode
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
func.func @decode(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32>, %x: tensor<1x256xf32>, %many: tensor<100x256xf32>) -> (tensor<1x128xf32>, tensor<100x128xf32>) {
  // CHECK: graph.decode {{.*}}graph.fusion_group = 0 : i64, graph.why = "low-bit weights dequantized in the kernel"
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32>) -> tensor<256x128xf32>
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 0
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  // CHECK: graph.decode {{.*}}graph.fusion_group = 1
  %2 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32>) -> tensor<256x128xf32>
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 1
  %3 = graph.matmul %many, %2 : (tensor<100x256xf32>, tensor<256x128xf32>) -> tensor<100x128xf32>
  return %1, %3 : tensor<1x128xf32>, tensor<100x128xf32>
}

// CHECK-LABEL: func.func @look_up
func.func @look_up(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32>, %t: tensor<16xf32>, %x: tensor<1x256xf32>) -> tensor<1x128xf32> {
  // CHECK: graph.decode_by_table {{.*}}graph.fusion_group = 0 : i64, graph.why = "weights dequantized with a lookup table"
  %0 = graph.decode_by_table %w, %s, %t {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32>, tensor<16xf32>) -> tensor<256x128xf32>
  // CHECK: graph.matmul {{.*}}graph.fusion_group = 0
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  return %1 : tensor<1x128xf32>
}
}

// -----

// A concat of GEMM results that another GEMM reads is not fused, because it becomes a no-op.
// Elementwise users of the concat read its operands as they are.
// CHECK-LABEL: func.func @placed
func.func @placed(%x: tensor<8x16xf32>, %v: tensor<16x24xf32>, %w: tensor<48x16xf32>) -> (tensor<8x16xf32>, tensor<8x48xf32>) {
  %0 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %1 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  // CHECK: graph.concat {{.*}}graph.fusion_group = [[C:[0-9]+]] : i64, graph.why = "its operands are written directly into its result"
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x48xf32>
  %3 = graph.matmul %2, %w : (tensor<8x48xf32>, tensor<48x16xf32>) -> tensor<8x16xf32>
  %4 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %5 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  // CHECK: graph.concat {{.*}}graph.fusion_group = [[D:[0-9]+]] : i64, graph.why = "elementwise ops with the same dims"
  %6 = graph.concat %4, %5 {axis = 1 : i64} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x48xf32>
  // CHECK: graph.relu {{.*}}graph.fusion_group = [[D]]
  %7 = graph.relu %6 : (tensor<8x48xf32>) -> tensor<8x48xf32>
  return %3, %7 : tensor<8x16xf32>, tensor<8x48xf32>
}

// -----

// A concat of three operands is fused with their producers if the offsets in its result are dynamic,
// so that the producers cannot write into it.
// CHECK-LABEL: func.func @not_placed
func.func @not_placed(%x: tensor<4x?xf32> {graph.dims = [4, #graph.dim<"n">]}) -> tensor<4x?xf32> {
  // CHECK: graph.pad {{.*}}graph.fusion_group = [[G:[0-9]+]] : i64
  %0 = graph.pad %x {graph.dims = [[4, 3]], low = [0, 3], high = [0, #graph.dim<"-n">], mode = "reflect"} : (tensor<4x?xf32>) -> tensor<4x3xf32>
  // CHECK: graph.relu {{.*}}graph.fusion_group = [[G]]
  %1 = graph.relu %x {graph.dims = [[4, #graph.dim<"n">]]} : (tensor<4x?xf32>) -> tensor<4x?xf32>
  // CHECK: graph.pad {{.*}}graph.fusion_group = [[G]]
  %2 = graph.pad %x {graph.dims = [[4, 3]], low = [0, #graph.dim<"-n">], high = [0, 3], mode = "reflect"} : (tensor<4x?xf32>) -> tensor<4x3xf32>
  // CHECK: graph.concat {{.*}}graph.fusion_group = [[G]]
  %3 = graph.concat %0, %1, %2 {axis = 1 : i64, graph.dims = [[4, #graph.dim<"n + 6">]]} : (tensor<4x3xf32>, tensor<4x?xf32>, tensor<4x3xf32>) -> tensor<4x?xf32>
  return %3 : tensor<4x?xf32>
}

// -----

// The pass does not fuse a layout conversion into a row-wise kernel, which would repeat the
// conversion in every pass over a row.
// CHECK-LABEL: func.func @turned
func.func @turned(%x: tensor<4x50x8xf32, #graph.layout<[1, 2, 0]>>) -> tensor<4x50x8xf32> {
  // CHECK: graph.relayout {{.*}}graph.fusion_group = 0
  %0 = graph.relayout %x : (tensor<4x50x8xf32, #graph.layout<[1, 2, 0]>>) -> tensor<4x50x8xf32>
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 1
  %1 = graph.reduce_max %0 {dims = array<i64: 2>} : (tensor<4x50x8xf32>) -> tensor<4x50x1xf32>
  // CHECK: graph.sub {{.*}}graph.fusion_group = 1
  %2 = graph.sub %0, %1 : (tensor<4x50x8xf32>, tensor<4x50x1xf32>) -> tensor<4x50x8xf32>
  return %2 : tensor<4x50x8xf32>
}

// -----

// A reduction result is fused with values along the same dims, whatever their ranks, and not with
// values along other dims of equal extent.
// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<4x4xf32>, %w: tensor<1x1x4xf32>) -> (tensor<4x4xf32>, tensor<1x1x4xf32>, tensor<4x4xf32>) {
  // CHECK: graph.reduce_min {{.*}}graph.fusion_group = 0
  %0 = graph.reduce_min %x {dims = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  // CHECK: graph.add {{.*}}graph.fusion_group = 0 : i64, graph.why = "row-wise ops of one kernel"
  %1 = graph.add %0, %w : (tensor<4xf32>, tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  // CHECK: graph.sub {{.*}}graph.fusion_group = 1
  %2 = graph.sub %0, %x : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: graph.reduce_max {{.*}}graph.fusion_group = 2
  %3 = graph.reduce_max %x {dims = array<i64: 0>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  // CHECK: graph.sub {{.*}}graph.fusion_group = 2
  %4 = graph.sub %3, %x : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %1, %4 : tensor<4x4xf32>, tensor<1x1x4xf32>, tensor<4x4xf32>
}

// -----

// Padding that is most of the padded tensor is folded only for one channel: a padded copy would be
// 65536 times as large.
// CHECK-LABEL: func.func @wide_border
func.func @wide_border(%x: tensor<7x1x1x1xf32>, %y: tensor<7x1x8x8xf32>, %w: tensor<1x1x2x2xf32>) -> (tensor<7x1x2x2xf32>, tensor<7x1x9x9xf32>) {
  // CHECK: graph.pad {{.*}}graph.fusion_group = 0 : i64, graph.why = "zero padding folded into the contraction"
  %0 = graph.pad %x {low = [0, 0, 255, 255], high = [0, 0, 255, 255]} : (tensor<7x1x1x1xf32>) -> tensor<7x1x511x511xf32>
  // CHECK: graph.conv {{.*}}graph.fusion_group = 0
  %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 509, 509>} : (tensor<7x1x511x511xf32>, tensor<1x1x2x2xf32>) -> tensor<7x1x2x2xf32>
  // CHECK: graph.pad {{.*}}graph.fusion_group = 1
  %2 = graph.pad %y {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<7x1x8x8xf32>) -> tensor<7x1x10x10xf32>
  // CHECK: graph.conv {{.*}}graph.fusion_group = 2
  %3 = graph.conv %2, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<7x1x10x10xf32>, tensor<1x1x2x2xf32>) -> tensor<7x1x9x9xf32>
  return %1, %3 : tensor<7x1x2x2xf32>, tensor<7x1x9x9xf32>
}

// -----

// Padding that a contraction folds belongs to the contraction's kernel, not to that of its operand.
// CHECK-LABEL: func.func @border
func.func @border(%x: tensor<1x8x8x8xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>> {
  // CHECK: graph.relayout {{.*}}graph.fusion_group = 0
  %0 = graph.relayout %x : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: graph.pad {{.*}}graph.fusion_group = 1 : i64, graph.why = "zero padding folded into the contraction"
  %1 = graph.pad %0 {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x8x8x8xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x8x10x10xf32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: graph.conv {{.*}}graph.fusion_group = 1
  %2 = graph.conv %1, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x8x10x10xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
  return %2 : tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
}

// -----

// Packing elements into groups for dot products is fused with elementwise ops that have no other
// result, and not with row-wise kernels.
// CHECK-LABEL: func.func @packed
func.func @packed(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>) -> (tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<1x32xi32>) {
  // CHECK: graph.cast %arg0 {graph.fusion_group = 0
  // CHECK: graph.relayout {{.*}}graph.fusion_group = 0
  %0 = graph.cast %x {to = i8} : (tensor<64x32xf32>) -> tensor<64x32xi8>
  %1 = graph.relayout %0 : (tensor<64x32xi8>) -> tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>
  // CHECK: graph.cast %arg1 {graph.fusion_group = 1
  // CHECK: graph.cast {{.*}}graph.fusion_group = 1
  // CHECK: graph.reduce_sum {{.*}}graph.fusion_group = 1
  // CHECK: graph.relayout {{.*}}graph.fusion_group = 2
  %2 = graph.cast %y {to = i8} : (tensor<64x32xf32>) -> tensor<64x32xi8>
  %3 = graph.cast %2 {to = i32} : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.reduce_sum %3 {dims = array<i64: 0>} : (tensor<64x32xi32>) -> tensor<1x32xi32>
  %5 = graph.relayout %2 : (tensor<64x32xi8>) -> tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>
  return %1, %5, %4 : tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<1x32xi32>
}
