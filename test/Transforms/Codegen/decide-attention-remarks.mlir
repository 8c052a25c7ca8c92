// Reasons why two contractions are not fused attention, and why windows with Winograd weights do
// not use Winograd; each reason once.
// RUN: hewn-opt %s --hewn-assign-schedules --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#last = #graph.layout<[0, 2, 3, 1]>
#windows = #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>
#channels = #graph.layout<[2, 3, 0, 1], blockDim = 1, block = 16 tile = 2, windows = [2, 3]>
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// CHECK: NotChained | {{.*}}Reason="fused attention has two contractions, and there are more"
plan.kernel @three(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.matmul %0, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = graph.matmul %1, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="one of the two contractions is not a matmul"
plan.kernel @windows(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>, %v: tensor<16x16x1x1xf32>) -> tensor<1x16x6x6xf32> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  %1 = graph.conv %0, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x6x6xf32>
  graph.yield %1 : tensor<1x16x6x6xf32>
}
// CHECK: NotChained | {{.*}}Reason="the second contraction does not reduce over the first one's columns"
plan.kernel @right(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %1 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="the contractions have other types than float32"
plan.kernel @double(%x: tensor<16x16xf64>) -> tensor<16x16xf64> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  %1 = graph.matmul %0, %x : (tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  graph.yield %1 : tensor<16x16xf64>
}
// CHECK: NotChained | {{.*}}Reason="there is no row-wise reduction between the two contractions"
plan.kernel @plain(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.relu %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = graph.matmul %1, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="an op after the second contraction is not elementwise"
plan.kernel @behind(%x: tensor<16x16xf32>) -> tensor<16x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = graph.reduce_max %3 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  graph.yield %4 : tensor<16x1xf32>
}
// CHECK: NotChained | {{.*}}Reason="a reduction between the two contractions does not reduce full rows"
plan.kernel @down(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 0>} : (tensor<16x16xf32>) -> tensor<1x16xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<1x16xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %3 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="an op between the two contractions is not row-wise"
plan.kernel @across(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = graph.matmul %1, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="a value between the two contractions has other uses"
plan.kernel @seen(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="an op reads intermediate values of an earlier step, or values of other rows"
plan.kernel @earlier(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = graph.add %3, %0 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %4 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="a result of the kernel is not computed from the second contraction's result"
plan.kernel @through(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %3, %x : tensor<16x16xf32>, tensor<16x16xf32>
}

// CHECK: NoMinimalFiltering | {{.*}}Reason="Winograd convolution needs a 3x3 window with stride 1 and a static number of channels"
plan.kernel @steps(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last>
  graph.yield %0 : tensor<1x16x3x3xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="the Winograd-transformed weights are computed in the kernel"
plan.kernel @weights(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<16x16x3x3xf32, #windows>) -> tensor<16x16x3x3xf32, #windows>
  %1 = graph.conv %x, %0 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="the Winograd-transformed weights are not packed in panels of columns"
plan.kernel @panels(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #channels>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #channels>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %0 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="the input is read through an indexing op that is not zero padding"
plan.kernel @moved(%x: tensor<1x16x9x9xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [0, 0, 1, 1], sizes = [1, 16, 8, 8], steps = array<i64: 1, 1, 1, 1>} : (tensor<1x16x9x9xf32, #last>) -> tensor<1x16x8x8xf32, #last>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="the left operand is computed in the kernel"
plan.kernel @made(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<1x16x8x8xf32, #last>) -> tensor<1x16x8x8xf32, #last>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="the input's channels are not contiguous in memory"
plan.kernel @order(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %0 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="an op of the epilogue reads the contraction's result at another index than its own"
plan.kernel @elsewhere(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>, %i: tensor<6xi64>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  %1 = graph.gather %0, %i {axis = 2} : (tensor<1x16x6x6xf32, #last>, tensor<6xi64>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
}
