// Loop nests for kernels without row-wise reductions and contractions.
// RUN: hewn-opt %s --hewn-assign-schedules --hewn-lower-kernels --canonicalize --cse | FileCheck %s

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {

// A loop nest of an elementwise kernel merges contiguous dims to one row: 4 * 6 elements are three
// vectors. Intermediate values stay in registers.
// CHECK-LABEL: func.func @aligned(
// CHECK: %[[N:.*]] = arith.constant 24 : index
// CHECK: scf.for %{{.*}} = %{{.*}} to %[[N]]
// CHECK-NOT: scf.for
// CHECK: arith.addf
// CHECK-NOT: vector.store
// CHECK: arith.mulf
// CHECK: vector.store
plan.kernel @aligned(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> attributes {symbols = []} {
  %0 = graph.add %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = graph.mul %0, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  graph.yield %1 : tensor<4x6xf32>
}

// The loop over a row of dynamic length has full vectors, followed by at most one masked vector.
// CHECK-LABEL: func.func @tail(
// CHECK: scf.for
// CHECK: vector.load
// CHECK: vector.store
// CHECK: scf.for
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedload %{{.*}}, %[[MASK]]
// CHECK: vector.maskedstore %{{.*}}, %[[MASK]]
plan.kernel @tail(%x: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}) -> tensor<?xf32> attributes {symbols = ["s0"]} {
  %0 = graph.neg %x {graph.dims = [[#graph.dim<"s0">]]} : (tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}

// The loop nest splats an element of a broadcast operand to a vector once per row.
// CHECK-LABEL: func.func @broadcast(
// CHECK: scf.for
// CHECK: memref.load
// CHECK: vector.broadcast
// CHECK: vector.store
plan.kernel @broadcast(%x: tensor<4x16xf32>, %y: tensor<4x1xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.add %x, %y : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}

// The indexing op is folded into its user's address: no copy is made.
// CHECK-LABEL: func.func @move(
// CHECK-NOT: memref.alloc
// CHECK: arith.addf
// CHECK: vector.store
// CHECK-NOT: vector.store
plan.kernel @move(%x: tensor<8x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [4, 0], sizes = [4, 16], steps = array<i64: 1, 1>} : (tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.add %0, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  graph.yield %1 : tensor<4x16xf32>
}

// A kernel that converts NCHW to NHWC: it loads vectors along a row of pixels of each of the three
// channels, and shuffles them to groups of three channels.
// CHECK-LABEL: func.func @channels_last(
// CHECK-NOT: vector.gather
// CHECK-COUNT-3: vector.load
// CHECK: vector.shuffle
// CHECK-COUNT-3: vector.store
// CHECK-NOT: vector.scatter
plan.kernel @channels_last(%x: tensor<1x3x4x16xf32>) -> tensor<1x3x4x16xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = []} {
  %0 = graph.relayout %x : (tensor<1x3x4x16xf32>) -> tensor<1x3x4x16xf32, #graph.layout<[0, 2, 3, 1]>>
  graph.yield %0 : tensor<1x3x4x16xf32, #graph.layout<[0, 2, 3, 1]>>
}

// A transpose in registers: pairwise shuffles transpose eight vectors of eight elements.
// CHECK-LABEL: func.func @turn(
// CHECK-NOT: vector.gather
// CHECK-COUNT-8: vector.load
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store
plan.kernel @turn(%x: tensor<64x32xf32>) -> tensor<64x32xf32, #graph.layout<[1, 0]>> attributes {symbols = []} {
  %0 = graph.relayout %x : (tensor<64x32xf32>) -> tensor<64x32xf32, #graph.layout<[1, 0]>>
  graph.yield %0 : tensor<64x32xf32, #graph.layout<[1, 0]>>
}

// An in-register transpose of 60 rows stores only the last four rows under a mask.
// CHECK-LABEL: func.func @turn_rest(
// CHECK: scf.if
// CHECK-NOT: masked
// CHECK-COUNT-8: vector.store
// CHECK: } else {
// CHECK-COUNT-8: vector.maskedstore
plan.kernel @turn_rest(%x: tensor<60x32xf32>) -> tensor<60x32xf32, #graph.layout<[1, 0]>> attributes {symbols = []} {
  %0 = graph.relayout %x : (tensor<60x32xf32>) -> tensor<60x32xf32, #graph.layout<[1, 0]>>
  graph.yield %0 : tensor<60x32xf32, #graph.layout<[1, 0]>>
}

// An interleave kernel has one loop nest for each operand, over the elements of this operand, so
// that no element has to compute which operand it reads.
// CHECK-LABEL: func.func @turns(
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.remsi
// CHECK: vector.load
// CHECK: vector.store
// CHECK: vector.load
// CHECK: vector.store
// CHECK: return
plan.kernel @turns(%x: tensor<6x32xf32>, %y: tensor<5x32xf32>) -> tensor<11x32xf32> attributes {symbols = []} {
  %0 = graph.interleave %x, %y {shape = [11, 32], steps = array<i64: 2, 1>} : (tensor<6x32xf32>, tensor<5x32xf32>) -> tensor<11x32xf32>
  graph.yield %0 : tensor<11x32xf32>
}

// A kernel with many subviews of dynamic size copies each of them by a call of a function; the
// compiler merges equal functions.
// CHECK: func.func private @subviews.subview0(%{{.*}}: memref<?xf32>, %{{.*}}: memref<?xf32>, %{{.*}}: index, %{{.*}}: index)
// CHECK-SAME: noinline
// CHECK-NOT: @subviews.subview1
// CHECK-LABEL: func.func @subviews(
// CHECK-COUNT-9: call @subviews.subview0(
// CHECK-NOT: scf.for
plan.kernel @subviews(%a: tensor<?xf32> {graph.dims = [#graph.dim<"s0">]}, %b: tensor<?xf32> {graph.dims = [#graph.dim<"s1">]}, %c: tensor<?xf32> {graph.dims = [#graph.dim<"s2">]}, %d: tensor<?xf32> {graph.dims = [#graph.dim<"s3">]}, %e: tensor<?xf32> {graph.dims = [#graph.dim<"s4">]}, %f: tensor<?xf32> {graph.dims = [#graph.dim<"s5">]}, %g: tensor<?xf32> {graph.dims = [#graph.dim<"s6">]}, %h: tensor<?xf32> {graph.dims = [#graph.dim<"s7">]}, %i: tensor<?xf32> {graph.dims = [#graph.dim<"s8">]}) -> (tensor<?xf32> {graph.dims = [#graph.dim<"s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8">]}) attributes {symbols = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"]} {
  %0 = graph.concat %a, %b, %c, %d, %e, %f, %g, %h, %i {axis = 0 : i64, graph.dims = [[#graph.dim<"s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8">]]} : (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  graph.yield %0 : tensor<?xf32>
}

// A kernel that concatenates subviews and padding: each row of the result reads one operand after
// the other, so that no element has to compute which operand it reads.
// CHECK-LABEL: func.func @padded(
// CHECK: scf.for
// CHECK: scf.if
// CHECK: vector.load %arg1
// CHECK: else
// CHECK: vector.store
// CHECK: scf.for
// CHECK: scf.if
// CHECK: vector.load %arg2
// CHECK: else
// CHECK: vector.store
// CHECK: return
plan.kernel @padded(%a: tensor<2x16xf32>, %b: tensor<2x16xf32>) -> tensor<4x32xf32> attributes {symbols = []} {
  %0 = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
  %1 = graph.relu %0 : (tensor<2x32xf32>) -> tensor<2x32xf32>
  %2 = graph.pad %1 {low = [1, 0], high = [1, 0]} : (tensor<2x32xf32>) -> tensor<4x32xf32>
  graph.yield %2 : tensor<4x32xf32>
}

// A kernel that packs a matrix in pairs of rows: it interleaves the pairs by shuffles. It reads the
// last four columns under a mask and stores them with the panel's padding.
// CHECK-LABEL: func.func @pairs(
// CHECK-COUNT-2: vector.load
// CHECK-COUNT-2: vector.shuffle
// CHECK-COUNT-2: vector.store
// CHECK-COUNT-2: vector.maskedload
// CHECK-COUNT-2: vector.store
// CHECK-NOT: vector.scatter
plan.kernel @pairs(%x: tensor<64x20xbf16>) -> tensor<64x20xbf16, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 2>> attributes {symbols = []} {
  %0 = graph.relayout %x : (tensor<64x20xbf16>) -> tensor<64x20xbf16, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 2>>
  graph.yield %0 : tensor<64x20xbf16, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 2>>
}

// A kernel that packs a matrix transposes 32-bit groups as units if the elements of a group are
// contiguous already.
// CHECK-LABEL: func.func @words(
// CHECK-COUNT-8: vector.load
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store
// CHECK-NOT: vector.scatter
plan.kernel @words(%x: tensor<64x32xi8, #graph.layout<[1, 0]>>) -> tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>> attributes {symbols = []} {
  %0 = graph.relayout %x : (tensor<64x32xi8, #graph.layout<[1, 0]>>) -> tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>
  graph.yield %0 : tensor<64x32xi8, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 4>>
}

// If the number of rows to be packed in pairs is odd, the last row has no partner, and the kernel
// stores it element by element.
// CHECK-LABEL: func.func @half_a_pair(
// CHECK: vector.scatter
plan.kernel @half_a_pair(%x: tensor<63x16xbf16>) -> tensor<63x16xbf16, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 2>> attributes {symbols = []} {
  %0 = graph.relayout %x : (tensor<63x16xbf16>) -> tensor<63x16xbf16, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 2>>
  graph.yield %0 : tensor<63x16xbf16, #graph.layout<[0, 1], blockDim = 1, block = 16, groupDim = 0, group = 2>>
}

// A concat kernel with many rows splits the rows of all subviews among its tasks.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: %[[BEGIN:[^:]*]]: index, %[[END:[^:]*]]: index)
// CHECK-SAME: plan.launch_info = #plan.tasks<count = 512,
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: return
plan.kernel @shared(%a: tensor<512x64xf32>, %b: tensor<512x64xf32>) -> tensor<512x128xf32> attributes {symbols = []} {
  %0 = graph.concat %a, %b {axis = 1 : i64} : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<512x128xf32>
  graph.yield %0 : tensor<512x128xf32>
}

// The kernel of a slice with step two: it has two contiguous loads and a shuffle, and reads nothing
// beyond the last element. A reversed slice has one load and one shuffle.
// CHECK-LABEL: func.func @steps(
// CHECK-NOT: vector.gather
// CHECK-COUNT-2: vector.load
// CHECK: vector.shuffle
// CHECK-NOT: vector.gather
plan.kernel @steps(%x: tensor<4x33xf32>) -> tensor<4x16xf32> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [0, 1], sizes = [4, 16], steps = array<i64: 1, 2>} : (tensor<4x33xf32>) -> tensor<4x16xf32>
  graph.yield %0 : tensor<4x16xf32>
}

// For a wide padded row, the kernel peels the first vector from the loop, so that the inner vectors
// need no check for padding.
// CHECK-LABEL: func.func @borders(
// CHECK: vector.maskedload
// CHECK: scf.for
// CHECK-NOT: vector.maskedload
// CHECK: vector.load
plan.kernel @borders(%x: tensor<2x40xf32>) -> tensor<2x40xf32> attributes {symbols = []} {
  %0 = graph.window %x {kernel = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 1>, sizes = [40], fill = 0.0 : f64} : (tensor<2x40xf32>) -> tensor<2x40x3xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 2>, keepdims = false} : (tensor<2x40x3xf32>) -> tensor<2x40xf32>
  graph.yield %1 : tensor<2x40xf32>
}

// The kernel of GridSample computes each sampling position once for sixteen channels: the channel
// loop is innermost, and the position does not depend on its index.
// CHECK-LABEL: func.func @samples(
// CHECK: scf.for %[[TASK:.*]] = %arg4 to %arg5
// CHECK: %[[LINE:.*]] = arith.divui %[[TASK]]
// CHECK: scf.for %[[CHANNEL:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT: %[[AT:.*]] = arith.muli %[[LINE]]
// CHECK: vector.load %arg2[%{{.*}}]
// CHECK: vector.gather %arg1
plan.kernel @samples(%x: tensor<1x64x28x32xf32>, %grid: tensor<1x28x32x2xf32>) -> tensor<1x64x28x32xf32> attributes {symbols = []} {
  %0 = graph.grid_sample %x, %grid {alignCorners = false, mode = "nearest", padding = "border"} : (tensor<1x64x28x32xf32>, tensor<1x28x32x2xf32>) -> tensor<1x64x28x32xf32>
  graph.yield %0 : tensor<1x64x28x32xf32>
}

// A loop nest of a matmul of floats and quantized weights, which has no register tiles, converts
// the weights to float when it reads them.
// CHECK-LABEL: func.func @codes(
// CHECK: arith.sitofp %{{.*}} : {{.*}}i8{{.*}} to {{.*}}f32
// CHECK: arith.mulf
// CHECK-LABEL: func.func @codes_without_sign(
// CHECK: arith.uitofp %{{.*}} : {{.*}}i8{{.*}} to {{.*}}f32
// CHECK: arith.mulf
plan.kernel @codes(%x: tensor<1x2x1x8xf32>, %w: tensor<1x2x8x1xi8, #graph.layout<[2, 0, 3, 1]>>) -> tensor<1x2x1x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<1x2x1x8xf32>, tensor<1x2x8x1xi8, #graph.layout<[2, 0, 3, 1]>>) -> tensor<1x2x1x1xf32>
  graph.yield %0 : tensor<1x2x1x1xf32>
}
plan.kernel @codes_without_sign(%x: tensor<1x2x1x8xf32>, %w: tensor<1x2x8x1xui8, #graph.layout<[2, 0, 3, 1]>>) -> tensor<1x2x1x1xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w {to = f32} : (tensor<1x2x1x8xf32>, tensor<1x2x8x1xui8, #graph.layout<[2, 0, 3, 1]>>) -> tensor<1x2x1x1xf32>
  graph.yield %0 : tensor<1x2x1x1xf32>
}

}
