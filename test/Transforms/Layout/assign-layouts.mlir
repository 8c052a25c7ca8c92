// Memory layouts: determined by contractions and propagated to the surrounding ops.
// RUN: hewn-opt %s --split-input-file --hewn-assign-layouts --mlir-print-local-scope | FileCheck %s
// RUN: hewn-opt %s --split-input-file --hewn-assign-layouts --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: Reason="layout conversion inserted: a convolution needs contiguous channels"
// REMARK-DAG: Reason="layout conversion inserted: dot-product instructions need elements that are contiguous along K"
// REMARK-DAG: Reason="layout conversion inserted: a reshape of the current layout would move elements"
// REMARK-DAG: Reason="layout conversion inserted: the kernel is vectorized along columns, which must be contiguous"
// REMARK-DAG: Reason="layout conversion inserted: the operands of an interleaving concat need the same layout"
// REMARK-DAG: Reason="layout conversion inserted: this op, or the function's return, needs row-major operands"
// REMARK-DAG: Reason="Winograd not used: the cost model expects the direct convolution to be faster"

// A convolution needs the NHWC layout. The pass packs its constant weights in blocks of output
// features, with K in the order of the other operand. Ops after the convolution keep its layout;
// inputs and outputs of the function stay row-major.
// CHECK-LABEL: func.func @conv(
// CHECK-SAME: %[[X:.*]]: tensor<1x3x8x8xf32>)
// CHECK: %[[W:.*]] = graph.relayout %{{.*}} -> tensor<16x3x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = {{[0-9]+}}>>
// CHECK: %[[XL:.*]] = graph.relayout %[[X]] : {{.*}} -> tensor<1x3x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[C:.*]] = graph.conv %[[XL]], %[[W]] {{.*}} -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[R:.*]] = graph.relu %[[C]] : {{.*}} -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[OUT:.*]] = graph.relayout %[[R]] : {{.*}} -> tensor<1x16x6x6xf32>
// CHECK: return %[[OUT]]
func.func @conv(%x: tensor<1x3x8x8xf32>) -> tensor<1x16x6x6xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<16x3x3x3xf32>} : tensor<16x3x3x3xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x6x6xf32>
  %1 = graph.relu %0 : (tensor<1x16x6x6xf32>) -> tensor<1x16x6x6xf32>
  return %1 : tensor<1x16x6x6xf32>
}

// -----

// The result of a transpose is the same memory with another dim order, so that a matmul that reads
// it needs no conversion. The right operand of a matmul needs contiguous columns.
// CHECK-LABEL: func.func @attention
// CHECK: %[[Q:.*]] = graph.transpose %{{.*}} -> tensor<2x4x8x16xf32, #graph.layout<[0, 2, 1, 3]>>
// CHECK: %[[K:.*]] = graph.transpose
// CHECK: %[[KL:.*]] = graph.relayout %[[K]]
// CHECK: graph.matmul %[[Q]], %[[KL]]
func.func @attention(%x: tensor<2x8x4x16xf32>, %y: tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32> {
  %0 = graph.transpose %x {order = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = graph.transpose %y {order = array<i64: 0, 2, 3, 1>} : (tensor<2x8x4x16xf32>) -> tensor<2x4x16x8xf32>
  %2 = graph.matmul %0, %1 : (tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x8x8xf32>
  return %2 : tensor<2x4x8x8xf32>
}

// -----

// The compiler packs constants only. A computed matrix keeps its layout.
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8x32xf32>)
// CHECK: %[[W:.*]] = graph.relayout %{{.*}} -> tensor<8x32xf32, #graph.layout<{{.*}}blockDim = 1
// CHECK: graph.matmul %[[X]], %[[W]]
// CHECK: graph.matmul %[[X]], %[[Y]] : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
func.func @matmul(%x: tensor<4x8xf32>, %y: tensor<8x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %w = graph.constant {value = dense<1.0> : tensor<8x32xf32>} : tensor<8x32xf32>
  %0 = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
  %1 = graph.matmul %x, %y : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
  return %0, %1 : tensor<4x32xf32>, tensor<4x32xf32>
}

// -----

// A reshape that merges contiguous dims keeps the current layout of its operand; its other users
// get a layout conversion.
// CHECK-LABEL: func.func @reshape
// CHECK: %[[C:.*]] = graph.conv {{.*}} -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: graph.reshape %[[C]] {{.*}} -> tensor<1x16x64xf32, #graph.layout<[0, 2, 1]>>
// CHECK: %[[R:.*]] = graph.relayout %[[C]] : {{.*}} -> tensor<1x16x8x8xf32>
// CHECK: graph.reshape %[[R]] {{.*}} -> tensor<1x32x32xf32>
func.func @reshape(%x: tensor<1x3x8x8xf32>, %w: tensor<16x3x1x1xf32>) -> (tensor<1x64x16xf32>, tensor<1x32x32xf32>) {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = graph.reshape %0 {shape = [1, 16, 64]} : (tensor<1x16x8x8xf32>) -> tensor<1x16x64xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 2, 1>} : (tensor<1x16x64xf32>) -> tensor<1x64x16xf32>
  %3 = graph.reshape %0 {shape = [1, 32, 32]} : (tensor<1x16x8x8xf32>) -> tensor<1x32x32xf32>
  return %2, %3 : tensor<1x64x16xf32>, tensor<1x32x32xf32>
}

// -----

// A channel shuffle permutes only the channel dims, so that the layout stays.
// CHECK-LABEL: func.func @shuffle
// CHECK: %[[C:.*]] = graph.conv {{.*}} -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[G:.*]] = graph.reshape %[[C]] {{.*}} -> tensor<1x2x8x8x8xf32, #graph.layout<[0, 3, 4, 1, 2]>>
// CHECK: %[[T:.*]] = graph.transpose %[[G]] {{.*}} -> tensor<1x8x2x8x8xf32, #graph.layout<[0, 3, 4, 2, 1]>>
// CHECK: %[[R:.*]] = graph.relayout %[[T]] : {{.*}} -> tensor<1x8x2x8x8xf32, #graph.layout<[0, 3, 4, 1, 2]>>
// CHECK: graph.reshape %[[R]] {{.*}} -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
func.func @shuffle(%x: tensor<1x3x8x8xf32>, %w: tensor<16x3x1x1xf32>, %v: tensor<4x16x1x1xf32>) -> tensor<1x4x8x8xf32> {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = graph.reshape %0 {shape = [1, 2, 8, 8, 8]} : (tensor<1x16x8x8xf32>) -> tensor<1x2x8x8x8xf32>
  %2 = graph.transpose %1 {order = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x8x8x8xf32>) -> tensor<1x8x2x8x8xf32>
  %3 = graph.reshape %2 {shape = [1, 16, 8, 8]} : (tensor<1x8x2x8x8xf32>) -> tensor<1x16x8x8xf32>
  %4 = graph.conv %3, %v {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<4x16x1x1xf32>) -> tensor<1x4x8x8xf32>
  return %4 : tensor<1x4x8x8xf32>
}

// -----

// A reshape that merges non-contiguous dims gets a layout conversion of its operand, with the
// innermost dim unchanged.
// CHECK-LABEL: func.func @heads
// CHECK: %[[T:.*]] = graph.transpose %arg0 {{.*}} -> tensor<4x6x10x32xf32, #graph.layout<[0, 2, 1, 3]>>
// CHECK: %[[R:.*]] = graph.relayout %[[T]] : {{.*}} -> tensor<4x6x10x32xf32>
// CHECK: graph.reshape %[[R]] {{.*}} -> tensor<24x10x32xf32>
func.func @heads(%x: tensor<4x10x6x32xf32>) -> tensor<24x10x32xf32> {
  %0 = graph.transpose %x {order = array<i64: 0, 2, 1, 3>} : (tensor<4x10x6x32xf32>) -> tensor<4x6x10x32xf32>
  %1 = graph.reshape %0 {shape = [24, 10, 32]} : (tensor<4x6x10x32xf32>) -> tensor<24x10x32xf32>
  return %1 : tensor<24x10x32xf32>
}

// -----

// The pass converts the operand of a Flatten to row-major order, because flattening all of an image
// needs it.
// CHECK-LABEL: func.func @flatten
// CHECK: %[[C:.*]] = graph.conv {{.*}} -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[R:.*]] = graph.relayout %[[C]] : {{.*}} -> tensor<1x16x8x8xf32>
// CHECK: graph.reshape %[[R]] {{.*}} -> tensor<1x1024xf32>
func.func @flatten(%x: tensor<1x3x8x8xf32>, %w: tensor<16x3x1x1xf32>) -> tensor<1x1024xf32> {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = graph.reshape %0 {shape = [1, 1024]} : (tensor<1x16x8x8xf32>) -> tensor<1x1024xf32>
  return %1 : tensor<1x1024xf32>
}

// -----

// For a matrix unit, too, the pass packs the right operand in groups along K, whether or not the
// target has a vector dot product for these groups. It does not if a GEMM has to use vectors
// instead of the matrix unit.
#tiles = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.zero", load = "llvm.load", store = "llvm.store", product = "llvm.product", relativeRate = 12, minRows = 6>]>
module attributes {plan.target = #tiles} {
// CHECK-LABEL: func.func @tiles
// CHECK: graph.matmul {{.*}} : (tensor<32x64xbf16>, tensor<64x96xbf16, #graph.layout<[1, 0], blockDim = 1, block = {{[0-9]+}}, groupDim = 0, group = 2>>)
func.func @tiles(%x: tensor<32x64xbf16>) -> tensor<32x96xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<64x96xbf16>} : tensor<64x96xbf16>
  %0 = graph.matmul %x, %w {to = f32} : (tensor<32x64xbf16>, tensor<64x96xbf16>) -> tensor<32x96xf32>
  return %0 : tensor<32x96xf32>
}
// The split-bf16 components of an operand have the layout of this operand.
// CHECK-LABEL: func.func @terms
// CHECK: graph.conv {{.*}} : (tensor<1x32x16x16xbf16, #graph.layout<[0, 2, 3, 1]>>, tensor<32x32x1x1xbf16, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64, groupDim = 1, group = 2>>, tensor<1x32x16x16xbf16, #graph.layout<[0, 2, 3, 1]>>, tensor<32x32x1x1xbf16, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 64, groupDim = 1, group = 2>>)
func.func @terms(%x: tensor<1x32x16x16xbf16>) -> tensor<1x32x16x16xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<32x32x1x1xbf16>} : tensor<32x32x1x1xbf16>
  %0 = graph.conv %x, %w, %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, to = f32} : (tensor<1x32x16x16xbf16>, tensor<32x32x1x1xbf16>, tensor<1x32x16x16xbf16>, tensor<32x32x1x1xbf16>) -> tensor<1x32x16x16xf32>
  return %0 : tensor<1x32x16x16xf32>
}
// CHECK-LABEL: func.func @unknown_rows
// CHECK-NOT: group =
// CHECK: return
func.func @unknown_rows(%x: tensor<?x64xbf16> {graph.dims = [#graph.dim<"n">, 64]}) -> tensor<?x96xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<64x96xbf16>} : tensor<64x96xbf16>
  %0 = graph.matmul %x, %w {graph.dims = [[#graph.dim<"n">, 96]], to = f32} : (tensor<?x64xbf16>, tensor<64x96xbf16>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
}

// -----

// If the function has no contraction, all layouts stay row-major.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: graph.layout
// CHECK: return
func.func @left_alone(%x: tensor<2x3x4xf32>) -> tensor<2x4xf32> {
  %0 = graph.relu %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 1>, keepdims = false} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// If the target has pairwise dot products, a computed right operand is packed in pairs at run time.
// CHECK-LABEL: func.func @pairs
// CHECK: graph.relayout %{{.*}} -> tensor<4x64x96xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = {{[0-9]+}}, groupDim = 1, group = 2>>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.some.dot">]>} {
  func.func @pairs(%q: tensor<4x128x64xbf16>, %k: tensor<4x64x96xbf16>) -> tensor<4x128x96xf32> {
    %0 = graph.matmul %q, %k {to = f32} : (tensor<4x128x64xbf16>, tensor<4x64x96xbf16>) -> tensor<4x128x96xf32>
    return %0 : tensor<4x128x96xf32>
  }
}

// -----

// A right operand with dynamic columns is packed as well; the left operand is contiguous along K,
// whose adjacent elements are multiplied together.
// CHECK-LABEL: func.func @open_columns
// CHECK: graph.relayout %{{.*}} -> tensor<4x128x64xui8>
// CHECK: graph.relayout %{{.*}} -> tensor<4x64x?xi8, #graph.layout<[0, 2, 1], blockDim = 2, block = {{[0-9]+}}, groupDim = 1, group = 4>>
module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608, dots = [#plan.dot_product<left = ui8, right = i8, sum = i32, intrinsic = "llvm.some.dot">]>} {
  func.func @open_columns(%q: tensor<4x64x128xui8>, %k: tensor<4x64x?xi8> {graph.dims = [4, 64, #graph.dim<"n">]}) -> tensor<4x128x?xi32> {
    %t = graph.transpose %q {order = array<i64: 0, 2, 1>} : (tensor<4x64x128xui8>) -> tensor<4x128x64xui8>
    %0 = graph.matmul %t, %k {graph.dims = [[4, 128, #graph.dim<"n">]], to = i32} : (tensor<4x128x64xui8>, tensor<4x64x?xi8>) -> tensor<4x128x?xi32>
    return %0 : tensor<4x128x?xi32>
  }
}

// -----

// The MMAs of a GPU read bytes that are contiguous along K, so that the pass converts int8
// constants to this layout.
// CHECK-LABEL: func.func @bytes
// CHECK: graph.relayout %{{.*}} -> tensor<64x32xi8, #graph.layout<[1, 0]>>
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @bytes(%x: tensor<64x64xui8>) -> tensor<64x32xi32> {
    %w = graph.constant {value = dense<1> : tensor<64x32xi8>} : tensor<64x32xi8>
    %0 = graph.matmul %x, %w {to = i32} : (tensor<64x64xui8>, tensor<64x32xi8>) -> tensor<64x32xi32>
    return %0 : tensor<64x32xi32>
  }

  // Computed int8 operands of a GPU GEMM may have either order, so that the keys of attention heads
  // keep their layout.
  // CHECK-LABEL: func.func @heads
  // CHECK-NOT: graph.relayout
  // CHECK: graph.matmul %{{.*}}, %{{.*}} : (tensor<2x3x32x16xf16>, tensor<2x3x16x32xf16, #graph.layout<[3, 0, 1, 2]>>)
  func.func @heads(%q: tensor<2x3x32x16xf16>, %k: tensor<32x6x16xf16>) -> tensor<2x3x32x32xf16> {
    %0 = graph.transpose %k {order = array<i64: 1, 2, 0>} : (tensor<32x6x16xf16>) -> tensor<6x16x32xf16>
    %1 = graph.reshape %0 {shape = [2, 3, 16, 32]} : (tensor<6x16x32xf16>) -> tensor<2x3x16x32xf16>
    %2 = graph.matmul %q, %1 : (tensor<2x3x32x16xf16>, tensor<2x3x16x32xf16>) -> tensor<2x3x32x32xf16>
    return %2 : tensor<2x3x32x32xf16>
  }
}

// -----

// float32 constants are converted too if warpgroup MMA multiplies them as TF32.
// CHECK-LABEL: func.func @rounded
// CHECK: graph.relayout %{{.*}} -> tensor<64x32xf32, #graph.layout<[1, 0]>>
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, warpgroupProductsPerCycle = 1000, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 132, warpSize = 32, sharedBytes = 232448, mmasPerProduct = 1, limits = #limits, costs = #gpuCosts>} {
  func.func @rounded(%x: tensor<64x64xf32>) -> tensor<64x32xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x32xf32>} : tensor<64x32xf32>
    %0 = graph.matmul %x, %w : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    return %0 : tensor<64x32xf32>
  }
}

// -----

// Packed low-bit weights get the layout of float weights: panels of 32-bit words, and panels of
// scales.
// CHECK-LABEL: func.func @code(
// CHECK-DAG: %[[WL:.*]] = graph.relayout %{{.*}} -> tensor<32x128xui32, #graph.layout<[1, 0], blockDim = 1, block = [[N:[0-9]+]]>>
// CHECK-DAG: %[[SL:.*]] = graph.relayout %{{.*}} -> tensor<8x128xf32, #graph.layout<[1, 0], blockDim = 1, block = [[N]]>>
// CHECK: %[[D:.*]] = graph.decode %[[WL]], %[[SL]] {{.*}} -> tensor<256x128xf32>
// CHECK-NEXT: graph.matmul %{{.*}}, %[[D]]
func.func @code(%x: tensor<2x256xf32>) -> tensor<2x128xf32> {
  %w = graph.constant {value = dense<1985229328> : tensor<32x128xui32>} : tensor<32x128xui32>
  %s = graph.constant {value = dense<0.5> : tensor<8x128xf32>} : tensor<8x128xf32>
  %0 = graph.decode %w, %s {bits = 4, block = 32} : (tensor<32x128xui32>, tensor<8x128xf32>) -> tensor<256x128xf32>
  %y = graph.matmul %x, %0 : (tensor<2x256xf32>, tensor<256x128xf32>) -> tensor<2x128xf32>
  return %y : tensor<2x128xf32>
}

// -----

// Strided rows with fewer contiguous elements than a vector (talking heads) are converted for
// reductions over them. If only GEMMs read them, they are kept.
// CHECK-LABEL: func.func @heads
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
func.func @heads(%x: tensor<1x50x50x4xf32>, %v: tensor<1x4x50x64xf32>) -> (tensor<1x4x50x50xf32>, tensor<1x4x50x64xf32>) {
  // CHECK: %[[T:.*]] = graph.transpose %{{.*}} -> tensor<1x4x50x50xf32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK: %[[R:.*]] = graph.relayout %[[T]] : {{.*}} -> tensor<1x4x50x50xf32>
  // CHECK: graph.reduce_max %[[R]]
  // CHECK: graph.sub %[[R]]
  %0 = graph.transpose %x {order = array<i64: 0, 3, 1, 2>} : (tensor<1x50x50x4xf32>) -> tensor<1x4x50x50xf32>
  %1 = graph.reduce_max %0 {dims = array<i64: 3>} : (tensor<1x4x50x50xf32>) -> tensor<1x4x50x1xf32>
  %2 = graph.sub %0, %1 : (tensor<1x4x50x50xf32>, tensor<1x4x50x1xf32>) -> tensor<1x4x50x50xf32>
  // CHECK: %[[P:.*]] = graph.transpose %{{.*}} -> tensor<1x4x50x50xf32, #graph.layout<[0, 2, 3, 1]>>
  // CHECK-NEXT: graph.matmul %[[P]]
  %3 = graph.transpose %x {order = array<i64: 0, 3, 1, 2>} : (tensor<1x50x50x4xf32>) -> tensor<1x4x50x50xf32>
  %4 = graph.matmul %3, %v : (tensor<1x4x50x50xf32>, tensor<1x4x50x64xf32>) -> tensor<1x4x50x64xf32>
  return %2, %4 : tensor<1x4x50x50xf32>, tensor<1x4x50x64xf32>
}
}

// -----

// The layout changes before the padding that the contraction folds, not after it, so that the
// padding is no separate kernel.
// CHECK-LABEL: func.func @border
// CHECK-SAME: %[[X:.*]]: tensor<1x8x8x8xf32>
// CHECK: %[[XL:.*]] = graph.relayout %[[X]] : {{.*}} -> tensor<1x8x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[P:.*]] = graph.pad %[[XL]] {{.*}} -> tensor<1x8x10x10xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: graph.conv %[[P]]
func.func @border(%x: tensor<1x8x8x8xf32>, %w: tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32> {
  %0 = graph.pad %x {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x8x8x8xf32>) -> tensor<1x8x10x10xf32>
  %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x8x10x10xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x8x8xf32>
  return %1 : tensor<1x16x8x8xf32>
}

// -----

// The operands of an interleave with channels innermost are converted to that layout.
// CHECK-LABEL: func.func @turns
// CHECK: %[[C:.*]] = graph.conv {{.*}} -> tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: %[[Z:.*]] = graph.relayout %arg2
// CHECK: graph.interleave %[[C]], %[[Z]] {{.*}} -> tensor<1x16x16x8xf32, #graph.layout<[0, 2, 3, 1]>>
func.func @turns(%x: tensor<1x3x8x8xf32>, %w: tensor<16x3x1x1xf32>, %z: tensor<1x16x8x8xf32>) -> tensor<1x16x16x8xf32> {
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<16x3x1x1xf32>) -> tensor<1x16x8x8xf32>
  %1 = graph.interleave %0, %z {shape = [1, 16, 16, 8], steps = array<i64: 1, 1, 2, 1>} : (tensor<1x16x8x8xf32>, tensor<1x16x8x8xf32>) -> tensor<1x16x16x8xf32>
  return %1 : tensor<1x16x16x8xf32>
}

// -----

// Groups narrower than a vector: the weights are contiguous along the columns of all groups and
// unpacked, so that lanes cover several groups. The padding is folded.
// CHECK-LABEL: func.func @groups
// CHECK: %[[P:.*]] = graph.pad %{{.*}} -> tensor<1x16x10x10xf32, #graph.layout<[0, 2, 3, 1]>>
// CHECK: graph.conv %[[P]], %{{.*}} tensor<16x4x3x3xf32, #graph.layout<[2, 3, 1, 0]>>
// If a group of a grouped convolution has at least as many columns as a vector, the pass packs its
// weights.
// CHECK: graph.conv {{.*}} tensor<16x8x3x3xf32, #graph.layout<{{.*}}, blockDim = 0, block = 8>>
func.func @groups(%x: tensor<1x16x8x8xf32>) -> (tensor<1x16x8x8xf32>, tensor<1x16x6x6xf32>) {
  %w = graph.constant {value = #graph.weight<"w", 0 : 2304>} : tensor<16x4x3x3xf32>
  %v = graph.constant {value = #graph.weight<"v", 0 : 4608>} : tensor<16x8x3x3xf32>
  %0 = graph.pad %x {low = [0, 0, 1, 1], high = [0, 0, 1, 1]} : (tensor<1x16x8x8xf32>) -> tensor<1x16x10x10xf32>
  %1 = graph.conv %0, %w {dilations = array<i64: 1, 1>, groups = 4 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x10x10xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x8x8xf32>
  %2 = graph.conv %x, %v {dilations = array<i64: 1, 1>, groups = 2 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %1, %2 : tensor<1x16x8x8xf32>, tensor<1x16x6x6xf32>
}

// -----

// On a GPU, 3x3 weights get no Winograd layout, because GPU kernels compute 3x3 convolutions
// directly.
// CHECK-LABEL: func.func @grid_windows
// REMARK-DAG: Reason="Winograd not used: the target's kernels compute convolutions directly"
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
  func.func @grid_windows(%x: tensor<1x64x58x58xf32>) -> tensor<1x64x56x56xf32> {
    %w = graph.constant {value = dense<1.0> : tensor<64x64x3x3xf32>} : tensor<64x64x3x3xf32>
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x64x58x58xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
    return %0 : tensor<1x64x56x56xf32>
  }
}
