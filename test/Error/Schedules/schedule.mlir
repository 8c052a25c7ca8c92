// Schedules for which no code can be emitted. The error names the kernel.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-assign-schedules --hewn-lower-kernels

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@lanes has a schedule of 16 lanes, but the target's vectors have 8}}
  plan.kernel @lanes(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 16>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@panels has a schedule of 24 columns, but the weights are packed in panels of 16: a tile must be one or several panels, or an equal part of one}}
  plan.kernel @panels(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 24, lanes = 8>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@unit has the schedule #plan.contract<m = 2, n = 16, lanes = 8, unit = dots>, but is not a contraction that can be tiled this way: the target multiplies operands of these types on another unit}}
  plan.kernel @unit(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8, unit = dots>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@limbs has a schedule of 3 int8 slices, but the left operand is not split: its weights are floats}}
  plan.kernel @limbs(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8, int8Slices = 3>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@loops has the schedule #plan.loops<rows>, but the kernel does not have this form: the kernel also has a contraction or a prefix scan}}
  plan.kernel @loops(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.loops<rows>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@winograd has the schedule #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 64, slots = 1>, but is not a contraction with Winograd-transformed weights}}
  plan.kernel @winograd(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 64, slots = 1>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{, but is not fused attention: fused attention has two contractions, and there are fewer}}
  plan.kernel @chain(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.attention<rows = 4, head = #plan.contract<m = 2, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@grid has the schedule #plan.gpu_tile<m = 32, n = 32>, which is for another kind of target}}
  plan.kernel @grid(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.gpu_tile<m = 32, n = 32>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@contract has the schedule #plan.contract<m = 2, n = 16, lanes = 8>, but is not a contraction that can be tiled this way}}
  plan.kernel @contract(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@elements has the schedule #plan.loops<rows>, but the kernel does not have this form: the kernel has no reduction}}
  plan.kernel @elements(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = #plan.loops<rows>} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@scan has the schedule #plan.loops<cumulate>, but the kernel does not have this form}}
  plan.kernel @scan(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = #plan.loops<cumulate>} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{has a schedule of an unknown kind: "fast"}}
  plan.kernel @text(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = "fast"} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{, but the rows do not fit the stack buffer}}
  plan.kernel @long(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {symbols = [], schedule = #plan.attention<rows = 4096, head = #plan.contract<m = 2, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %s = graph.matmul %q, %k : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    %y = graph.matmul %d, %v : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    graph.yield %y : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{, but the rows do not fit the stack buffer}}
  plan.kernel @unknown(%q: tensor<64x32xf32>, %k: tensor<32x?xf32> {graph.dims = [32, #graph.dim<"s0">]}, %v: tensor<?x32xf32> {graph.dims = [#graph.dim<"s0">, 32]}) -> tensor<64x32xf32> attributes {symbols = ["s0"], schedule = #plan.attention<rows = 4, head = #plan.contract<m = 2, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %s = graph.matmul %q, %k {graph.dims = [[64, #graph.dim<"s0">]]} : (tensor<64x32xf32>, tensor<32x?xf32>) -> tensor<64x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[64, 1]]} : (tensor<64x?xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[64, #graph.dim<"s0">]]} : (tensor<64x?xf32>, tensor<64x1xf32>) -> tensor<64x?xf32>
    %y = graph.matmul %d, %v : (tensor<64x?xf32>, tensor<?x32xf32>) -> tensor<64x32xf32>
    graph.yield %y : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@step has the schedule #plan.loops<cumulate>, but the kernel does not have this form}}
  plan.kernel @step(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {symbols = [], schedule = #plan.attention<rows = 4, head = #plan.loops<cumulate>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %s = graph.matmul %q, %k : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    %y = graph.matmul %d, %v : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    graph.yield %y : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.512">],
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.x86.tilezero.internal", load = "llvm.x86.tileloadd64.internal", store = "llvm.x86.tilestored64.internal", product = "llvm.x86.tdpbf16ps.internal", relativeRate = 12, minRows = 6>]>} {
  // expected-error@+1 {{of 20 rows by 32 columns, which is not a multiple of the matrix unit's tile}}
  plan.kernel @tiles(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<64x32xf32> attributes {symbols = [], schedule = #plan.contract<m = 20, n = 32, lanes = 16, unit = matrix>} {
    %0 = graph.matmul %x, %w {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<64x32xf32>
    graph.yield %0 : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.512">],
    matrices = [#plan.matrix_unit<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.x86.tilezero.internal", load = "llvm.x86.tileloadd64.internal", store = "llvm.x86.tilestored64.internal", product = "llvm.x86.tdpbf16ps.internal", relativeRate = 12, minRows = 6>]>} {
  // expected-error@+1 {{without vectorRows, but the number of rows is dynamic and may be less than a matrix-unit tile}}
  plan.kernel @few(%x: tensor<?x64xbf16> {graph.dims = [#graph.dim<"s0">, 64]}, %w: tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<?x32xf32> attributes {symbols = ["s0"], schedule = #plan.contract<m = 16, n = 32, lanes = 16, unit = matrix>} {
    %0 = graph.matmul %x, %w {to = f32, graph.dims = [[#graph.dim<"s0">, 32]]} : (tensor<?x64xbf16>, tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<?x32xf32>
    graph.yield %0 : tensor<?x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608,
    dots = [#plan.dot_product<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.256">]>} {
  // expected-error@+1 {{, but the scores or weights are not float32, as scratch memory requires}}
  plan.kernel @narrow(%q: tensor<16x64x32xf32>, %k: tensor<16x32x64xf32>, %v: tensor<16x64x32xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = 16, groupDim = 1, group = 2>>) -> tensor<16x64x32xf32> attributes {symbols = [], schedule = #plan.attention<rows = 4, slots = 2, head = #plan.loops<map>, middle = #plan.loops<rows>, tail = #plan.loops<map>>} {
    %s = graph.matmul %q, %k : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
    %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
    %d = graph.sub %s, %m : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
    %b = graph.cast %d {to = bf16} : (tensor<16x64x64xf32>) -> tensor<16x64x64xbf16>
    %y = graph.matmul %b, %v {to = f32} : (tensor<16x64x64xbf16>, tensor<16x64x32xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = 16, groupDim = 1, group = 2>>) -> tensor<16x64x32xf32>
    graph.yield %y : tensor<16x64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@stride has a schedule with stride 12, which is less than 16 channels in full vectors}}
  plan.kernel @stride(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 12, slots = 1>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@panels has a schedule of 3 panels at once, which does not divide the 2 full panels}}
  plan.kernel @panels(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 8, lanes = 8, stride = 16, slots = 1, panels = 3>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@shared has a schedule of one block, but its 2 full panels do not fill 2 slots of 2}}
  plan.kernel @shared(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 8, lanes = 8, stride = 16, slots = 2, panels = 2>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

// Invalid Winograd kernel: only constant weights can be transformed, at compile time.
module attributes {plan.target = #plan.cpu<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{would apply the Winograd weight transform at run time, but only constants are transformed}}
plan.kernel @windows(%w: tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>> attributes {symbols = []} {
  %0 = graph.relayout %w : (tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
  graph.yield %0 : tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
}
}
