// Each GPU kernel gets its schedule as an attribute, and the scratch memory that the schedule
// needs.
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --hewn-insert-scratch | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-assign-schedules --hewn-insert-scratch --hewn-assign-schedules | FileCheck %s

#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// Elementwise kernels use vectors of four if there are enough elements for all multiprocessors.
// CHECK-LABEL: plan.kernel @map({{.*}}schedule = #plan.gpu_map<threads = 256, widths = [4]>
plan.kernel @map(%x: tensor<1024x256xf32>) -> tensor<1024x256xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<1024x256xf32>) -> tensor<1024x256xf32>
  graph.yield %0 : tensor<1024x256xf32>
}

// CHECK-LABEL: plan.kernel @small({{.*}}schedule = #plan.gpu_map<threads = 256, widths = [1]>
plan.kernel @small(%x: tensor<64x256xf32>) -> tensor<64x256xf32> attributes {symbols = []} {
  %0 = graph.relu %x : (tensor<64x256xf32>) -> tensor<64x256xf32>
  graph.yield %0 : tensor<64x256xf32>
}

// Indexing ops use vectors of as many contiguous elements as are aligned in both operand and
// result.
// CHECK-LABEL: plan.kernel @slice({{.*}}schedule = #plan.gpu_map<threads = 256, widths = [8]>
plan.kernel @slice(%x: tensor<3x1024x256xf16>) -> tensor<1x1024x256xf16> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [1, 0, 0], sizes = [1, 1024, 256], steps = array<i64: 1, 1, 1>} : (tensor<3x1024x256xf16>) -> tensor<1x1024x256xf16>
  graph.yield %0 : tensor<1x1024x256xf16>
}

// CHECK-LABEL: plan.kernel @slice_from_four({{.*}}schedule = #plan.gpu_map<threads = 256, widths = [4]>
plan.kernel @slice_from_four(%x: tensor<3x1024x256xf16>) -> tensor<3x1024x128xf16> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [0, 0, 4], sizes = [3, 1024, 128], steps = array<i64: 1, 1, 1>} : (tensor<3x1024x256xf16>) -> tensor<3x1024x128xf16>
  graph.yield %0 : tensor<3x1024x128xf16>
}

// CHECK-LABEL: plan.kernel @slice_from_three({{.*}}schedule = #plan.gpu_map<threads = 256, widths = [1]>
plan.kernel @slice_from_three(%x: tensor<3x1024x256xf16>) -> tensor<3x1024x128xf16> attributes {symbols = []} {
  %0 = graph.slice %x {offsets = [0, 0, 3], sizes = [3, 1024, 128], steps = array<i64: 1, 1, 1>} : (tensor<3x1024x256xf16>) -> tensor<3x1024x128xf16>
  graph.yield %0 : tensor<3x1024x128xf16>
}

// CHECK-LABEL: plan.kernel @transpose({{.*}}schedule = #plan.gpu_transpose<tile = 32, threads = 256>
plan.kernel @transpose(%x: tensor<64x256xf32>) -> tensor<256x64xf32> attributes {symbols = []} {
  %0 = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<64x256xf32>) -> tensor<256x64xf32>
  graph.yield %0 : tensor<256x64xf32>
}

// Schedules of row-wise kernels: one block per row, with a thread per vector of the row; one warp
// per row if there are many rows; one thread per row if rows are short.
// CHECK-LABEL: plan.kernel @rows({{.*}}schedule = #plan.gpu_rows<rowThreads = 256, threads = 256, width = 4>
plan.kernel @rows(%x: tensor<64x2048xf32>) -> tensor<64x2048xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x2048xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x2048xf32>, tensor<64x1xf32>) -> tensor<64x2048xf32>
  graph.yield %1 : tensor<64x2048xf32>
}

// CHECK-LABEL: plan.kernel @short({{.*}}schedule = #plan.gpu_rows<rowThreads = 32, threads = 256, width = 4>
plan.kernel @short(%x: tensor<64x128xf32>) -> tensor<64x128xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x128xf32>
  graph.yield %1 : tensor<64x128xf32>
}

// CHECK-LABEL: plan.kernel @shortest({{.*}}schedule = #plan.gpu_rows<rowThreads = 1, threads = 256>
plan.kernel @shortest(%x: tensor<64x16xf32>) -> tensor<64x16xf32> attributes {symbols = []} {
  %0 = graph.reduce_max %x {dims = array<i64: 1>} : (tensor<64x16xf32>) -> tensor<64x1xf32>
  %1 = graph.sub %x, %0 : (tensor<64x16xf32>, tensor<64x1xf32>) -> tensor<64x16xf32>
  graph.yield %1 : tensor<64x16xf32>
}

// CHECK-LABEL: plan.kernel @cumulate({{.*}}schedule = #plan.gpu_cumulate<lineThreads = 256, threads = 256, elements = 4>
plan.kernel @cumulate(%x: tensor<3x5000xf32>) -> tensor<3x5000xf32> attributes {symbols = []} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<3x5000xf32>) -> tensor<3x5000xf32>
  graph.yield %0 : tensor<3x5000xf32>
}

// CHECK-LABEL: plan.kernel @lines({{.*}}schedule = #plan.gpu_cumulate<lineThreads = 1, threads = 256>
plan.kernel @lines(%x: tensor<3x16xf32>) -> tensor<3x16xf32> attributes {symbols = []} {
  %0 = graph.cumsum %x {dim = 1 : i64} : (tensor<3x16xf32>) -> tensor<3x16xf32>
  graph.yield %0 : tensor<3x16xf32>
}

// The schedules of contractions use the matrix instruction, with the tile that the kernel's
// attribute gives or the best one. They use FMA if the type has no matrix instruction, and for
// skinny GEMMs.
// CHECK-LABEL: plan.kernel @matrix({{.*}}schedule = #plan.gpu_contract<form = matrix, m = 32, n = 32, buffers = 4, warpsM = 2, warpsN = 2
plan.kernel @matrix(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// CHECK-LABEL: plan.kernel @wanted({{.*}}schedule = #plan.gpu_contract<form = matrix, m = 64, n = 64, buffers = 3, warpsM = 2, warpsN = 2>
plan.kernel @wanted(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x128xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 64, n = 64, splits = 4, buffers = 3>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  graph.yield %0 : tensor<128x128xf32>
}

// CHECK-LABEL: plan.kernel @tiles({{.*}}schedule = #plan.gpu_contract<form = tiles, m = 64, n = 64>
plan.kernel @tiles(%x: tensor<128x64xf64>, %w: tensor<64x128xf64>) -> tensor<128x128xf64> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf64>, tensor<64x128xf64>) -> tensor<128x128xf64>
  graph.yield %0 : tensor<128x128xf64>
}

// CHECK-LABEL: plan.kernel @few_rows({{.*}}schedule = #plan.gpu_contract<form = few_rows, m = 3, n = 8>
plan.kernel @few_rows(%x: tensor<3x64xf32>, %w: tensor<64x128xf32>) -> tensor<3x128xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<3x64xf32>, tensor<64x128xf32>) -> tensor<3x128xf32>
  graph.yield %0 : tensor<3x128xf32>
}

// CHECK-LABEL: plan.kernel @few_columns({{.*}}schedule = #plan.gpu_contract<form = few_columns, m = 8, n = 3>
plan.kernel @few_columns(%x: tensor<128x64xf32>, %w: tensor<64x3xf32>) -> tensor<128x3xf32> attributes {symbols = []} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x3xf32>) -> tensor<128x3xf32>
  graph.yield %0 : tensor<128x3xf32>
}

// If a GEMM schedule is set on a kernel that only a row-wise schedule supports, the pass replaces
// it.
// CHECK-LABEL: plan.kernel @reduced({{.*}}schedule = #plan.gpu_
plan.kernel @reduced(%x: tensor<128x64xf32>, %w: tensor<64x128xf32>) -> tensor<128x1xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 64, n = 64>} {
  %0 = graph.matmul %x, %w : (tensor<128x64xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>} : (tensor<128x128xf32>) -> tensor<128x1xf32>
  graph.yield %1 : tensor<128x1xf32>
}

// Fused attention uses an online softmax by warps that share a row. Other row-wise ops between two
// GEMMs need several passes.
// CHECK-LABEL: plan.kernel @softmax({{.*}}schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f32, online = true>
plan.kernel @softmax(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %e = graph.exp %d : (tensor<2x1x256xf32>) -> tensor<2x1x256xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}

// CHECK-LABEL: plan.kernel @halves({{.*}}schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f16, online = true>
plan.kernel @halves(%q: tensor<2x1x16xf16>, %k: tensor<2x16x256xf16, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf16>) -> tensor<2x1x8xf16> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf16>, tensor<2x16x256xf16, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf16>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf16>) -> tensor<2x1x1xf16>
  %d = graph.sub %s, %m : (tensor<2x1x256xf16>, tensor<2x1x1xf16>) -> tensor<2x1x256xf16>
  %e = graph.exp %d : (tensor<2x1x256xf16>) -> tensor<2x1x256xf16>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x256xf16>) -> tensor<2x1x1xf16>
  %w = graph.div %e, %t : (tensor<2x1x256xf16>, tensor<2x1x1xf16>) -> tensor<2x1x256xf16>
  %y = graph.matmul %w, %v : (tensor<2x1x256xf16>, tensor<2x256x8xf16>) -> tensor<2x1x8xf16>
  graph.yield %y : tensor<2x1x8xf16>
}

// In fused attention with many short rows in a 16-bit type, a warp has two MMA tiles of rows, which
// share the loaded columns.
// CHECK-LABEL: plan.kernel @tall({{.*}}schedule = #plan.gpu_attention<warpsM = 4, warpsN = 1, columns = 32, factors = f16, online = true, rowTiles = 2>
plan.kernel @tall(%q: tensor<256x128x16xf16>, %k: tensor<256x16x256xf16, #graph.layout<[0, 2, 1]>>, %v: tensor<256x256x8xf16>) -> tensor<256x128x8xf16> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<256x128x16xf16>, tensor<256x16x256xf16, #graph.layout<[0, 2, 1]>>) -> tensor<256x128x256xf16>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<256x128x256xf16>) -> tensor<256x128x1xf16>
  %d = graph.sub %s, %m : (tensor<256x128x256xf16>, tensor<256x128x1xf16>) -> tensor<256x128x256xf16>
  %e = graph.exp %d : (tensor<256x128x256xf16>) -> tensor<256x128x256xf16>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<256x128x256xf16>) -> tensor<256x128x1xf16>
  %w = graph.div %e, %t : (tensor<256x128x256xf16>, tensor<256x128x1xf16>) -> tensor<256x128x256xf16>
  %y = graph.matmul %w, %v : (tensor<256x128x256xf16>, tensor<256x256x8xf16>) -> tensor<256x128x8xf16>
  graph.yield %y : tensor<256x128x8xf16>
}

// CHECK-LABEL: plan.kernel @passes({{.*}}schedule = #plan.gpu_attention<warpsM = 1, warpsN = 1, columns = 32, factors = f32>
plan.kernel @passes(%q: tensor<2x1x16xf32>, %k: tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>, %v: tensor<2x256x8xf32>) -> tensor<2x1x8xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x1x16xf32>, tensor<2x16x256xf32, #graph.layout<[0, 2, 1]>>) -> tensor<2x1x256xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x256xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x256xf32>, tensor<2x1x1xf32>) -> tensor<2x1x256xf32>
  %y = graph.matmul %d, %v : (tensor<2x1x256xf32>, tensor<2x256x8xf32>) -> tensor<2x1x8xf32>
  graph.yield %y : tensor<2x1x8xf32>
}

// Attention with one row per batch over many columns: the schedule splits the columns over blocks,
// with scratch memory for the partials. With a dynamic number of columns there may be only one
// split, which needs no memory.
// CHECK-LABEL: plan.kernel @divided({{.*}} -> (tensor<16x2304xf32>, tensor<2x1x64xf32>) attributes {schedule = #plan.gpu_attention<warpsM = 1, warpsN = 4, columns = 16, factors = f32, online = true, splitTiles = 2, blocks = 108>
// CHECK: graph.scratch {{.*}}of = f32, shape = [16, 2304]
plan.kernel @divided(%q: tensor<2x1x64xf32>, %k: tensor<2x64x2048xf32>, %v: tensor<2x2048x64xf32>) -> tensor<2x1x64xf32> attributes {symbols = []} {
  %s = graph.matmul %q, %k : (tensor<2x1x64xf32>, tensor<2x64x2048xf32>) -> tensor<2x1x2048xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x2048xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m : (tensor<2x1x2048xf32>, tensor<2x1x1xf32>) -> tensor<2x1x2048xf32>
  %e = graph.exp %d : (tensor<2x1x2048xf32>) -> tensor<2x1x2048xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x2048xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t : (tensor<2x1x2048xf32>, tensor<2x1x1xf32>) -> tensor<2x1x2048xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x2048xf32>, tensor<2x2048x64xf32>) -> tensor<2x1x64xf32>
  graph.yield %y : tensor<2x1x64xf32>
}
// CHECK-LABEL: plan.kernel @divided_of_any_length({{.*}} -> (tensor<?x2304xf32>, tensor<2x1x64xf32>) attributes {schedule = #plan.gpu_attention<{{.*}}splitTiles = 2, blocks = 108>
// CHECK: graph.scratch {{.*}}of = f32, shape = [#graph.dim<"{{.*}}min(54, floordiv(s0, 128)){{.*}}">, 2304]
plan.kernel @divided_of_any_length(%q: tensor<2x1x64xf32>, %k: tensor<2x64x?xf32> {graph.dims = [2, 64, #graph.dim<"s0">]}, %v: tensor<2x?x64xf32> {graph.dims = [2, #graph.dim<"s0">, 64]}) -> tensor<2x1x64xf32> attributes {symbols = ["s0"]} {
  %s = graph.matmul %q, %k {graph.dims = [[2, 1, #graph.dim<"s0">]]} : (tensor<2x1x64xf32>, tensor<2x64x?xf32>) -> tensor<2x1x?xf32>
  %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<2x1x?xf32>) -> tensor<2x1x1xf32>
  %d = graph.sub %s, %m {graph.dims = [[2, 1, #graph.dim<"s0">]]} : (tensor<2x1x?xf32>, tensor<2x1x1xf32>) -> tensor<2x1x?xf32>
  %e = graph.exp %d {graph.dims = [[2, 1, #graph.dim<"s0">]]} : (tensor<2x1x?xf32>) -> tensor<2x1x?xf32>
  %t = graph.reduce_sum %e {dims = array<i64: 2>} : (tensor<2x1x?xf32>) -> tensor<2x1x1xf32>
  %w = graph.div %e, %t {graph.dims = [[2, 1, #graph.dim<"s0">]]} : (tensor<2x1x?xf32>, tensor<2x1x1xf32>) -> tensor<2x1x?xf32>
  %y = graph.matmul %w, %v : (tensor<2x1x?xf32>, tensor<2x?x64xf32>) -> tensor<2x1x64xf32>
  graph.yield %y : tensor<2x1x64xf32>
}
// The launch passes the scratch memory to the kernel. The launch expresses the size of this memory
// in its own symbols.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]]:2 = plan.launch @divided_of_any_length({{.*}}) symbols [#graph.dim<"n">] {graph.dims = {{\[\[}}#graph.dim<"{{.*}}min(54, floordiv(n, 128)){{.*}}">, 2304], [2, 1, 64]]}
// CHECK: return %[[Y]]#1
func.func @main(%q: tensor<2x1x64xf32>, %k: tensor<2x64x?xf32> {graph.dims = [2, 64, #graph.dim<"n">]}, %v: tensor<2x?x64xf32> {graph.dims = [2, #graph.dim<"n">, 64]}) -> tensor<2x1x64xf32> {
  %0 = plan.launch @divided_of_any_length(%q, %k, %v) symbols [#graph.dim<"n">] : (tensor<2x1x64xf32>, tensor<2x64x?xf32>, tensor<2x?x64xf32>) -> tensor<2x1x64xf32>
  return %0 : tensor<2x1x64xf32>
}
}
