// Reasons why an op is not fused with the producer of an operand, each once; other tests of the
// pass cover the remaining ones.
// RUN: hewn-opt %s --split-input-file --hewn-decide-fusion --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s

// CHECK: NotFused | {{.*}}Producer=first, Reason="a reshape or another view between the two ops changes the iteration space"
func.func @view(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = graph.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("first")
  %1 = graph.reshape %0 {shape = [32]} : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = graph.exp %1 : (tensor<32xf32>) -> tensor<32xf32>
  return %2 : tensor<32xf32>
}

// -----

// CHECK: Reason="a prefix scan needs a kernel of its own"
// CHECK: Reason="the producer needs a kernel of its own"
func.func @sums(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.add %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = graph.cumsum %0 {dim = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = graph.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// CHECK: Reason="its elements do not correspond one-to-one to the contraction's result"
func.func @epilogue_broadcast(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %y: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.add %0, %y : (tensor<4x16xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  return %1 : tensor<2x4x16xf32>
}

// -----

// CHECK: Reason="its result has another layout than the producer's result, which would need a transpose"
func.func @epilogue_turned(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>) -> tensor<4x16xf32, #graph.layout<[1, 0]>> {
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.relayout %0 : (tensor<4x16xf32>) -> tensor<4x16xf32, #graph.layout<[1, 0]>>
  return %1 : tensor<4x16xf32, #graph.layout<[1, 0]>>
}

// -----

// CHECK: Reason="it reads the reduction result of another row"
func.func @move_of_rows(%x: tensor<4x512xf32>) -> tensor<4x2xf32> {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %1 = graph.pad %0 {high = [0, 1], low = [0, 0]} : (tensor<4x1xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// CHECK: Reason="other kernels use results of the producer's kernel with other dims"
func.func @broadcast_of_what_others_read(%x: tensor<16xf32>, %y: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  %0 = graph.add %x, %x : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.mul %0, %y : (tensor<16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %0, %1 : tensor<16xf32>, tensor<4x16xf32>
}

// -----

// CHECK: Reason="other kernels use the results of the producer's kernel"
func.func @move_of_what_others_read(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x15xf32>) {
  %0 = graph.add %x, %x : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = graph.slice %0 {offsets = [0, 1], sizes = [4, 15], steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<4x15xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<4x15xf32>
}

// -----

// CHECK: Reason="a row-wise kernel would repeat the indexing op in every pass over a row"
func.func @rows_through_a_move(%x: tensor<1x512xf32>, %y: tensor<4x512xf32>) -> tensor<4x512xf32> {
  %0 = graph.expand %x {shape = [4, 512]} : (tensor<1x512xf32>) -> tensor<4x512xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 0>} : (tensor<4x512xf32>) -> tensor<1x512xf32>
  %2 = graph.add %1, %y : (tensor<1x512xf32>, tensor<4x512xf32>) -> tensor<4x512xf32>
  return %2 : tensor<4x512xf32>
}

// -----

// CHECK: Reason="other kernels use the producer's result, which is larger than its operands"
func.func @larger_and_read_by_others(%x: tensor<4x1xf32>) -> (tensor<4x512xf32>, tensor<4x1xf32>) {
  %0 = graph.expand %x {shape = [4, 512]} : (tensor<4x1xf32>) -> tensor<4x512xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  return %0, %1 : tensor<4x512xf32>, tensor<4x1xf32>
}

// -----

// CHECK: Reason="the two kernels have different loop structures: a kernel has one contraction or one set of rows"
func.func @two_contractions(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %v: tensor<8x16xf32>) -> tensor<4x16xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %1 = graph.matmul %x, %v : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %2 = graph.add %0, %1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}

// -----

// CHECK: Reason="the two row-wise kernels read rows of different tensors"
func.func @rows_of_two(%x: tensor<4x512xf32>, %y: tensor<4x512xf32>) -> tensor<4x1xf32> {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %1 = graph.reduce_max %y {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %2 = graph.add %0, %1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}

// -----

// CHECK: Reason="the producer is expensive, and its elements are read more than once"
func.func @expensive_and_repeated(%x: tensor<16xf32>, %i: tensor<40xi64>) -> tensor<40xf32> {
  %0 = graph.exp %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.gather %0, %i {axis = 0 : i64} : (tensor<16xf32>, tensor<40xi64>) -> tensor<40xf32>
  return %1 : tensor<40xf32>
}

// -----

// CHECK: Reason="the producer is expensive, and a broadcast would recompute it"
func.func @expensive_and_broadcast(%x: tensor<16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = graph.exp %x : (tensor<16xf32>) -> tensor<16xf32>
  %1 = graph.mul %0, %y : (tensor<16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

// CHECK: Reason="a result of the producer's kernel that other kernels use has other dims"
func.func @both_read_elsewhere(%x: tensor<16xf32>, %y: tensor<4x16xf32>) -> (tensor<16xf32>, tensor<4x16xf32>) {
  %0 = graph.mul %y, %y : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = graph.add %x, %x : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
  %2 = graph.add %0, %1 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return %1, %2 : tensor<16xf32>, tensor<4x16xf32>
}

// -----

// CHECK: Reason="the producer is larger than its operands, and a row-wise kernel would recompute it in several passes"
func.func @larger_and_merged(%x: tensor<4x1xf32>, %y: tensor<4x512xf32>) -> tensor<4x512xf32> {
  %0 = graph.reduce_max %y {dims = array<i64: 1>} : (tensor<4x512xf32>) -> tensor<4x1xf32>
  %1 = graph.expand %x {shape = [4, 512]} : (tensor<4x1xf32>) -> tensor<4x512xf32>
  %2 = graph.mul %1, %y : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x512xf32>
  %3 = graph.sub %2, %0 : (tensor<4x512xf32>, tensor<4x1xf32>) -> tensor<4x512xf32>
  return %3 : tensor<4x512xf32>
}

// -----

// CHECK-COUNT-3: CopiedTogether | {{.*}}Reason="the target's kernels access contiguous rows, and subviews may be strided"
// CHECK-COUNT-3: Reason="a concat of this many operands does not compute them in its kernel"
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
func.func @many_subviews(%x: tensor<4x1xf32>) -> tensor<4x3xf32> {
  %0 = graph.neg %x : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %1 = graph.abs %x : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %2 = graph.relu %x : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = graph.concat %0, %1, %2 {axis = 1 : i64} : (tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x3xf32>
  return %3 : tensor<4x3xf32>
}
}

// -----

// CHECK: CopiedTogether | {{.*}}Producer=short, Reason="most operands cannot be written into the result: they are inputs or constants, have other users, or have another layout"
func.func @mostly_inputs(%x: tensor<4x1xf32>, %y: tensor<4x7xf32>, %z: tensor<4x7xf32>) -> tensor<4x15xf32> {
  %0 = graph.exp %x : (tensor<4x1xf32>) -> tensor<4x1xf32> loc("short")
  %1 = graph.concat %0, %y, %z {axis = 1 : i64} : (tensor<4x1xf32>, tensor<4x7xf32>, tensor<4x7xf32>) -> tensor<4x15xf32>
  return %1 : tensor<4x15xf32>
}

// -----

// CHECK: Producer=open, Reason="the offset of an operand in the result is dynamic"
func.func @open_lengths(%x: tensor<?x4xf32> {graph.dims = [#graph.dim<"n">, 4]}, %y: tensor<4x4xf32>, %z: tensor<4x4xf32>) -> tensor<?x4xf32> {
  %0 = graph.exp %x {graph.dims = [[#graph.dim<"n">, 4]]} : (tensor<?x4xf32>) -> tensor<?x4xf32> loc("open")
  %1 = graph.concat %0, %y, %z {axis = 0 : i64, graph.dims = [[#graph.dim<"n + 8">, 4]]} : (tensor<?x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// -----

// CHECK: Producer=early, Reason="the result would be live while many contractions are computed"
func.func @far_apart(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> loc("early")
  %1 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.matmul %1, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = graph.matmul %2, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = graph.matmul %3, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = graph.matmul %4, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %6 = graph.matmul %5, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = graph.matmul %6, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %8 = graph.matmul %7, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = graph.matmul %8, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %10 = graph.matmul %9, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %11 = graph.concat %0, %10 {axis = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return %11 : tensor<4x8xf32>
}
