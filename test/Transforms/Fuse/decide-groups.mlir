// Which ops become one kernel, and why; and what must stay apart.
// RUN: hewn-opt %s --split-input-file --hewn-decide-groups | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-decide-groups=fuse=false | FileCheck %s --check-prefix=ALONE
// RUN: hewn-opt %s --split-input-file --hewn-decide-groups --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="a contraction reads an element of its operands many times"
// REMARK-DAG: Reason="only elementwise ops join a contraction"
// REMARK-DAG: Reason="the producer's kernel transposes what it reads, which passes over rows would do again"
// REMARK-DAG: Reason="another op reads one of the two kernels before this one"
// REMARK-DAG: Reason="the contraction reads the producer, many times an element"
// REMARK-DAG: Reason="groups of neighbours are put together from whole vectors, by a kernel that makes nothing else"

// Elementwise ops over one space.
// CHECK-LABEL: func.func @chain
// ALONE-LABEL: func.func @chain
func.func @chain(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: graph.add {{.*}}graph.in_group = 0 : i64, graph.why = "elementwise ops over one space"
  // ALONE: graph.add {{.*}}graph.in_group = 0
  %0 = graph.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.relu {{.*}}graph.in_group = 0
  // ALONE: graph.relu {{.*}}graph.in_group = 1
  %1 = graph.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// -----

// What follows a contraction elementwise is its epilogue; a second contraction is a kernel of its own.
// CHECK-LABEL: func.func @contract
func.func @contract(%x: tensor<4x8xf32>, %v: tensor<8x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  // CHECK: graph.matmul {{.*}}graph.in_group = 0 : i64, graph.why = "elementwise ops on the accumulators of a contraction"
  %0 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.add {{.*}}graph.in_group = 0
  %1 = graph.add %0, %b : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.tanh {{.*}}graph.in_group = 0
  %2 = graph.tanh %1 : (tensor<4x16xf32>) -> tensor<4x16xf32>
  // CHECK: graph.matmul {{.*}}graph.in_group = 1
  %3 = graph.matmul %2, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  return %3 : tensor<4x16xf32>
}

// -----

// Reductions over the same dims, what they read and what reads them are passes over one row.
// CHECK-LABEL: func.func @rows
func.func @rows(%x: tensor<4x512xf32>, %s: tensor<f32>) -> tensor<4x512xf32> {
  // CHECK: graph.mul {{.*}}graph.in_group = 0
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 0
  // CHECK: graph.sub {{.*}}graph.in_group = 0
  // CHECK: graph.exp {{.*}}graph.in_group = 0
  // CHECK: graph.reduce_sum {{.*}}graph.in_group = 0
  // CHECK: graph.div {{.*}}graph.in_group = 0 : i64, graph.why = "{{.*}}passes over one row
  %0 = graph.mul %x, %s : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %2 = graph.sub %0, %1 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  %3 = graph.exp %2 : (tensor<4x512xf32>) -> tensor<4x512xf32>
  %4 = graph.reduce_sum %3 {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %5 = graph.div %3, %4 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  return %5 : tensor<4x512xf32>
}

// -----

// Two reductions of one tensor, each with ops of its own, meet: both are passes over the rows.
// CHECK-LABEL: func.func @two_reductions
func.func @two_reductions(%x: tensor<4x512xf32>, %s: tensor<f32>) -> tensor<4x512xf32> {
  // CHECK: graph.reduce_min {{.*}}graph.in_group = 0
  // CHECK: graph.mul {{.*}}graph.in_group = 0
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 0
  // CHECK: graph.add {{.*}}graph.in_group = 0
  // CHECK: graph.sub {{.*}}graph.in_group = 0
  // CHECK: graph.div {{.*}}graph.in_group = 0
  %0 = graph.reduce_min %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %1 = graph.mul %0, %s : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %2 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %3 = graph.add %2, %s : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %4 = graph.sub %3, %1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.div %x, %4 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  return %5 : tensor<4x512xf32>
}

// -----

// Reductions over unlike dims share no row.
// CHECK-LABEL: func.func @other_rows
func.func @other_rows(%x: tensor<64x512xf32>) -> tensor<1x1xf32> {
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 0
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x512xf32>) -> tensor<64x1xf32>
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 1
  %1 = graph.reduce_max %0 {dims = array<i64: 0>} : (tensor<64x1xf32>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

// -----

// Behind a broadcast each element is computed again and again: what is cheap comes along, an exponential does not.
// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: tensor<4x8xf32>, %c: tensor<1x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: graph.neg {{.*}}graph.in_group = 0
  %0 = graph.neg %c : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: graph.add {{.*}}graph.in_group = 0 : i64, graph.why = "a cheap operand that is broadcast"
  %1 = graph.add %x, %0 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.exp {{.*}}graph.in_group = 1
  %2 = graph.exp %c : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: graph.add {{.*}}graph.in_group = 2
  %3 = graph.add %x, %2 : (tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return %1, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// What a contraction reads lies in memory, also where the epilogue reads it too.
// CHECK-LABEL: func.func @residual
func.func @residual(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  // CHECK: graph.relu {{.*}}graph.in_group = 0
  %0 = graph.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.matmul {{.*}}graph.in_group = 1
  %1 = graph.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.add {{.*}}graph.in_group = 1
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// A group runs where its last op stands. The negation can't join the sum that reads it: the product needs it before.
// CHECK-LABEL: func.func @cycle
func.func @cycle(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: graph.neg {{.*}}graph.in_group = 0
  %0 = graph.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: graph.matmul {{.*}}graph.in_group = 1
  %1 = graph.matmul %0, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 2
  %2 = graph.reduce_max %1 {dims = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  // CHECK: graph.add {{.*}}graph.in_group = 2
  %3 = graph.add %0, %2 : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// -----

// A move reads its operand in place; a view is no kernel, and neither are constants.
// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<64xf32>) {
  // CHECK: graph.constant
  // CHECK-NOT: in_group
  // CHECK: graph.add {{.*}}graph.in_group = 0 : i64, graph.why = "a move reads its operand in place"
  %c = graph.constant {value = dense<2.0> : tensor<f32>} : tensor<f32>
  %0 = graph.add %x, %c : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  // CHECK: graph.slice {{.*}}graph.in_group = 0
  %1 = graph.slice %0 {offsets = [4, 0], sizes = [4, 8], steps = array<i64: 1, 1>} : (tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: graph.reshape
  // CHECK-NOT: in_group
  // CHECK: return
  %2 = graph.reshape %x {shape = [64]} : (tensor<8x8xf32>) -> tensor<64xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<64xf32>
}

// -----

// Weights of few bits are decoded where they are multiplied.
// CHECK-LABEL: func.func @decode
#panels = #graph.layout<[1, 0], blockDim = 1, block = 16>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
func.func @decode(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32>, %x: tensor<1x256xf32>, %many: tensor<100x256xf32>) -> (tensor<1x128xf32>, tensor<100x128xf32>) {
  // CHECK: graph.decode {{.*}}graph.in_group = 0 : i64, graph.why = "weights in few bits"
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32>) -> tensor<256x128xf32>
  // CHECK: graph.matmul {{.*}}graph.in_group = 0
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  // CHECK: graph.decode {{.*}}graph.in_group = 1
  %2 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32>) -> tensor<256x128xf32>
  // CHECK: graph.matmul {{.*}}graph.in_group = 1
  %3 = graph.matmul %many, %2 : (tensor<100x256xf32>, tensor<256x128xf32>) -> tensor<100x128xf32>
  return %1, %3 : tensor<1x128xf32>, tensor<100x128xf32>
}

// CHECK-LABEL: func.func @look_up
func.func @look_up(%w: tensor<32x128xui32, #panels>, %s: tensor<8x128xf32>, %t: tensor<16xf32>, %x: tensor<1x256xf32>) -> tensor<1x128xf32> {
  // CHECK: graph.decode_by_table {{.*}}graph.in_group = 0 : i64, graph.why = "weights looked up in a table"
  %0 = graph.decode_by_table %w, %s, %t {bits = 4, block = 32} : (tensor<32x128xui32, #panels>, tensor<8x128xf32>, tensor<16xf32>) -> tensor<256x128xf32>
  // CHECK: graph.matmul {{.*}}graph.in_group = 0
  %1 = graph.matmul %x, %0 : (tensor<1x256xf32>, tensor<256x128xf32>) -> tensor<1x128xf32>
  return %1 : tensor<1x128xf32>
}
}

// -----

// What puts together what contractions make, for a contraction, joins nobody: nothing will be left of it. Elementwise ops that read it
// take its operands as they are.
// CHECK-LABEL: func.func @placed
func.func @placed(%x: tensor<8x16xf32>, %v: tensor<16x24xf32>, %w: tensor<48x16xf32>) -> (tensor<8x16xf32>, tensor<8x48xf32>) {
  %0 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %1 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  // CHECK: graph.concat {{.*}}graph.in_group = [[C:[0-9]+]] : i64, graph.why = "its operands are made in place"
  %2 = graph.concat %0, %1 {axis = 1 : i64} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x48xf32>
  %3 = graph.matmul %2, %w : (tensor<8x48xf32>, tensor<48x16xf32>) -> tensor<8x16xf32>
  %4 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %5 = graph.matmul %x, %v : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  // CHECK: graph.concat {{.*}}graph.in_group = [[D:[0-9]+]] : i64, graph.why = "elementwise ops over one space"
  %6 = graph.concat %4, %5 {axis = 1 : i64} : (tensor<8x24xf32>, tensor<8x24xf32>) -> tensor<8x48xf32>
  // CHECK: graph.relu {{.*}}graph.in_group = [[D]]
  %7 = graph.relu %6 : (tensor<8x48xf32>) -> tensor<8x48xf32>
  return %3, %7 : tensor<8x16xf32>, tensor<8x48xf32>
}

// -----

// What turns what it reads is not done again in every pass over a row.
// CHECK-LABEL: func.func @turned
func.func @turned(%x: tensor<4x50x8xf32, #graph.layout<[1, 2, 0]>>) -> tensor<4x50x8xf32> {
  // CHECK: graph.relayout {{.*}}graph.in_group = 0
  %0 = graph.relayout %x : (tensor<4x50x8xf32, #graph.layout<[1, 2, 0]>>) -> tensor<4x50x8xf32>
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 1
  %1 = graph.reduce_max %0 {dims = array<i64: 2>} : (tensor<4x50x8xf32>) -> tensor<4x50x1xf32>
  // CHECK: graph.sub {{.*}}graph.in_group = 1
  %2 = graph.sub %0, %1 : (tensor<4x50x8xf32>, tensor<4x50x1xf32>) -> tensor<4x50x8xf32>
  return %2 : tensor<4x50x8xf32>
}

// -----

// What is reduced of a row is of one kernel with values along the same dims, whatever their ranks, and with no others of equal extent.
// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<4x4xf32>, %w: tensor<1x1x4xf32>) -> (tensor<4x4xf32>, tensor<1x1x4xf32>, tensor<4x4xf32>) {
  // CHECK: graph.reduce_min {{.*}}graph.in_group = 0
  %0 = graph.reduce_min %x {dims = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  // CHECK: graph.add {{.*}}graph.in_group = 0 : i64, graph.why = "passes over one row"
  %1 = graph.add %0, %w : (tensor<4xf32>, tensor<1x1x4xf32>) -> tensor<1x1x4xf32>
  // CHECK: graph.sub {{.*}}graph.in_group = 1
  %2 = graph.sub %0, %x : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // CHECK: graph.reduce_max {{.*}}graph.in_group = 2
  %3 = graph.reduce_max %x {dims = array<i64: 0>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  // CHECK: graph.sub {{.*}}graph.in_group = 2
  %4 = graph.sub %3, %x : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %1, %4 : tensor<4x4xf32>, tensor<1x1x4xf32>, tensor<4x4xf32>
}

// -----

// Of one channel only where the border is most of what there is: a padded copy would be 65536 times as large.
// CHECK-LABEL: func.func @wide_border
func.func @wide_border(%x: tensor<7x1x1x1xf32>, %y: tensor<7x1x8x8xf32>, %w: tensor<1x1x2x2xf32>) -> (tensor<7x1x2x2xf32>, tensor<7x1x9x9xf32>) {
  // CHECK: graph.pad {{.*}}graph.in_group = 0 : i64, graph.why = "a border of zeros that is left out"
  %0 = graph.pad %x {low = [0, 0, 255, 255], high = [0, 0, 255, 255]} : (tensor<7x1x1x1xf32>) -> tensor<7x1x511x511xf32>
  // CHECK: graph.conv {{.*}}graph.in_group = 0
  %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 509, 509>} : (tensor<7x1x511x511xf32>, tensor<1x1x2x2xf32>) -> tensor<7x1x2x2xf32>
  // CHECK: graph.pad {{.*}}graph.in_group = 1
  %2 = graph.pad %y {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<7x1x8x8xf32>) -> tensor<7x1x10x10xf32>
  // CHECK: graph.conv {{.*}}graph.in_group = 2
  %3 = graph.conv %2, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<7x1x10x10xf32>, tensor<1x1x2x2xf32>) -> tensor<7x1x9x9xf32>
  return %1, %3 : tensor<7x1x2x2xf32>, tensor<7x1x9x9xf32>
}

// -----

// A border that a contraction leaves out is the contraction's, and not computed with what is inside of it.
// CHECK-LABEL: func.func @border
func.func @border(%x: tensor<1x8x8x8xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>> {
  // CHECK: graph.relayout {{.*}}graph.in_group = 0
  %0 = graph.relayout %x : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: graph.pad {{.*}}graph.in_group = 1 : i64, graph.why = "a border of zeros that is left out"
  %1 = graph.pad %0 {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x8x8x8xf32, #graph.layout<[0, 2, 3, 1]>>) -> tensor<1x8x10x10xf32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: graph.conv {{.*}}graph.in_group = 1
  %2 = graph.conv %1, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x8x10x10xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
  return %2 : tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
}

// -----

// What puts neighbours in groups joins elementwise ops that make nothing else, and no passes over rows.
// CHECK-LABEL: func.func @packed
func.func @packed(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>) -> (tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<1x32xi32>) {
  // CHECK: graph.cast %arg0 {graph.in_group = 0
  // CHECK: graph.relayout {{.*}}graph.in_group = 0
  %0 = graph.cast %x {to = i8} : (tensor<64x32xf32>) -> tensor<64x32xi8>
  %1 = graph.relayout %0 : (tensor<64x32xi8>) -> tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>
  // CHECK: graph.cast %arg1 {graph.in_group = 1
  // CHECK: graph.cast {{.*}}graph.in_group = 1
  // CHECK: graph.reduce_sum {{.*}}graph.in_group = 1
  // CHECK: graph.relayout {{.*}}graph.in_group = 2
  %2 = graph.cast %y {to = i8} : (tensor<64x32xf32>) -> tensor<64x32xi8>
  %3 = graph.cast %2 {to = i32} : (tensor<64x32xi8>) -> tensor<64x32xi32>
  %4 = graph.reduce_sum %3 {dims = array<i64: 0>} : (tensor<64x32xi32>) -> tensor<1x32xi32>
  %5 = graph.relayout %2 : (tensor<64x32xi8>) -> tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>
  return %1, %5, %4 : tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>, tensor<1x32xi32>
}
