// What keeps two contractions from being a chain, and windows with transformed weights from Winograd's method, each reason once.
// RUN: hewn-opt %s --hewn-decide-kernels --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

#last = #graph.layout<[0, 2, 3, 1]>
#windows = #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>
#channels = #graph.layout<[2, 3, 0, 1], blockDim = 1, block = 16 tile = 2, windows = [2, 3]>
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// CHECK: NotChained | {{.*}}Reason="a chain has two contractions, and there are more"
plan.kernel @three(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.matmul %0, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = graph.matmul %1, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="one of the two contractions is no product of matrices, of rows and columns"
plan.kernel @windows(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32>, %v: tensor<16x16x1x1xf32>) -> tensor<1x16x6x6xf32> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x6x6xf32>
  %1 = graph.conv %0, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x6x6xf32>, tensor<16x16x1x1xf32>) -> tensor<1x16x6x6xf32>
  graph.yield %1 : tensor<1x16x6x6xf32>
}
// CHECK: NotChained | {{.*}}Reason="the second contraction does not sum over what is made of the first one's rows"
plan.kernel @right(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.matmul %x, %0 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %1 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="a chain is of float32, and this one is not"
plan.kernel @double(%x: tensor<16x16xf64>) -> tensor<16x16xf64> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  %1 = graph.matmul %0, %x : (tensor<16x16xf64>, tensor<16x16xf64>) -> tensor<16x16xf64>
  graph.yield %1 : tensor<16x16xf64>
}
// CHECK: NotChained | {{.*}}Reason="nothing between the two contractions is reduced over its rows"
plan.kernel @plain(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.relu %0 : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = graph.matmul %1, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="what follows the second contraction is not elementwise"
plan.kernel @behind(%x: tensor<16x16xf32>) -> tensor<16x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = graph.reduce_max %3 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  graph.yield %4 : tensor<16x1xf32>
}
// CHECK: NotChained | {{.*}}Reason="a reduction between the two contractions is not one of whole rows"
plan.kernel @down(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 0>} : (tensor<16x16xf32>) -> tensor<1x16xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<1x16xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %3 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="an op between the two contractions does not keep their rows apart"
plan.kernel @across(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.transpose %0 {order = array<i64: 1, 0>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
  %2 = graph.matmul %1, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="others read what is between the two contractions"
plan.kernel @seen(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %2, %3 : tensor<16x16xf32>, tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="an op of the chain reads an earlier step's values, or others than its own rows'"
plan.kernel @earlier(%x: tensor<16x16xf32>) -> tensor<16x16xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %4 = graph.add %3, %0 : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %4 : tensor<16x16xf32>
}
// CHECK: NotChained | {{.*}}Reason="a result of its kernel is not made of the second contraction's"
plan.kernel @through(%x: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) attributes {symbols = []} {
  %0 = graph.matmul %x, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<16x16xf32>) -> tensor<16x1xf32>
  %2 = graph.sub %0, %1 : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
  %3 = graph.matmul %2, %x : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  graph.yield %3, %x : tensor<16x16xf32>, tensor<16x16xf32>
}

// CHECK: NoMinimalFiltering | {{.*}}Reason="it does not slide a window of 3 x 3, step by step, over channels of a known number"
plan.kernel @steps(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x3x3xf32, #last>
  graph.yield %0 : tensor<1x16x3x3xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="its transformed weights are computed in the kernel"
plan.kernel @weights(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %w : (tensor<16x16x3x3xf32, #windows>) -> tensor<16x16x3x3xf32, #windows>
  %1 = graph.conv %x, %0 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="its transformed weights do not lie in panels of columns"
plan.kernel @panels(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #channels>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #channels>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %0 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="its operand is read through a move that is no border of zeros"
plan.kernel @moved(%x: tensor<1x16x9x9xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [0, 0, 1, 1], sizes = [1, 16, 8, 8], steps = array<i64: 1, 1, 1, 1>} : (tensor<1x16x9x9xf32, #last>) -> tensor<1x16x8x8xf32, #last>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="its left operand is computed in the kernel"
plan.kernel @made(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<1x16x8x8xf32, #last>) -> tensor<1x16x8x8xf32, #last>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="its operand's channels are no neighbours in memory"
plan.kernel @order(%x: tensor<1x16x8x8xf32>, %w: tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %0 : tensor<1x16x6x6xf32, #last>
}
// CHECK: NoMinimalFiltering | {{.*}}Reason="a result of its kernel reads sums of other elements than its own"
plan.kernel @elsewhere(%x: tensor<1x16x8x8xf32, #last>, %w: tensor<16x16x3x3xf32, #windows>, %i: tensor<6xi64>) -> tensor<1x16x6x6xf32, #last> attributes {symbols = []} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x8x8xf32, #last>, tensor<16x16x3x3xf32, #windows>) -> tensor<1x16x6x6xf32, #last>
  %1 = graph.gather %0, %i {axis = 2} : (tensor<1x16x6x6xf32, #last>, tensor<6xi64>) -> tensor<1x16x6x6xf32, #last>
  graph.yield %1 : tensor<1x16x6x6xf32, #last>
}
}
