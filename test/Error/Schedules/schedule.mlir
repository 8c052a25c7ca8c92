// Schedules by which no code can be made. The kernel is named.
// RUN: hewn-opt %s --split-input-file --verify-diagnostics --hewn-decide-kernels --hewn-lower-kernels

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@lanes has a schedule of 16 lanes, and the machine's vectors have 8}}
  plan.kernel @lanes(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 16>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@panels has a schedule of 24 columns, and weights in panels of 16: tiles must be panels, several of them, or equal parts of one}}
  plan.kernel @panels(%x: tensor<4x64xf32>, %w: tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 24, lanes = 8>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32, #graph.layout<[1, 0], blockDim = 1, block = 16>>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@unit has the schedule #plan.contract<m = 2, n = 16, lanes = 8, unit = dots>, and is no contraction that the machine tiles so: that is not what the machine multiplies its operands with}}
  plan.kernel @unit(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8, unit = dots>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@limbs has a schedule of 3 limbs, and can't have any: its weights are floats}}
  plan.kernel @limbs(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8, limbs = 3>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@loops has the schedule #plan.loops<rows>, and is no kernel of this form: its kernel has a contraction or running sums too}}
  plan.kernel @loops(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.loops<rows>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@winograd has the schedule #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 64, slots = 1>, and is no contraction with weights transformed for it}}
  plan.kernel @winograd(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 64, slots = 1>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{, and is no chain of two contractions: a chain has two contractions, and there are fewer}}
  plan.kernel @chain(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.chain<rows = 4, head = #plan.contract<m = 2, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@grid has the schedule #plan.grid_tile<m = 32, n = 32>, which is another kind of machine's}}
  plan.kernel @grid(%x: tensor<4x64xf32>, %w: tensor<64x16xf32>) -> tensor<4x16xf32> attributes {symbols = [], schedule = #plan.grid_tile<m = 32, n = 32>} {
    %0 = graph.matmul %x, %w : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
    graph.yield %0 : tensor<4x16xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@contract has the schedule #plan.contract<m = 2, n = 16, lanes = 8>, and is no contraction that the machine tiles so}}
  plan.kernel @contract(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = #plan.contract<m = 2, n = 16, lanes = 8>} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@elements has the schedule #plan.loops<rows>, and is no kernel of this form: nothing in its kernel is reduced}}
  plan.kernel @elements(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = #plan.loops<rows>} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@scan has the schedule #plan.loops<cumulate>, and is no kernel of this form}}
  plan.kernel @scan(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = #plan.loops<cumulate>} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{has a schedule that is none: "fast"}}
  plan.kernel @text(%x: tensor<4x64xf32>) -> tensor<4x64xf32> attributes {symbols = [], schedule = "fast"} {
    %0 = graph.relu %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
    graph.yield %0 : tensor<4x64xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{, and rows too long for a stack}}
  plan.kernel @long(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {symbols = [], schedule = #plan.chain<rows = 4096, head = #plan.contract<m = 2, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %s = graph.matmul %q, %k : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    %y = graph.matmul %d, %v : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    graph.yield %y : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{, and rows too long for a stack}}
  plan.kernel @unknown(%q: tensor<64x32xf32>, %k: tensor<32x?xf32> {graph.dims = [32, #graph.dim<"s0">]}, %v: tensor<?x32xf32> {graph.dims = [#graph.dim<"s0">, 32]}) -> tensor<64x32xf32> attributes {symbols = ["s0"], schedule = #plan.chain<rows = 4, head = #plan.contract<m = 2, n = 16, lanes = 8>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %s = graph.matmul %q, %k {graph.dims = [[64, #graph.dim<"s0">]]} : (tensor<64x32xf32>, tensor<32x?xf32>) -> tensor<64x?xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>, graph.dims = [[64, 1]]} : (tensor<64x?xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m {graph.dims = [[64, #graph.dim<"s0">]]} : (tensor<64x?xf32>, tensor<64x1xf32>) -> tensor<64x?xf32>
    %y = graph.matmul %d, %v : (tensor<64x?xf32>, tensor<?x32xf32>) -> tensor<64x32xf32>
    graph.yield %y : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@step has the schedule #plan.loops<cumulate>, and is no kernel of this form}}
  plan.kernel @step(%q: tensor<64x32xf32>, %k: tensor<32x64xf32>, %v: tensor<64x32xf32>) -> tensor<64x32xf32> attributes {symbols = [], schedule = #plan.chain<rows = 4, head = #plan.loops<cumulate>, middle = #plan.loops<rows>, tail = #plan.contract<m = 2, n = 16, lanes = 8>>} {
    %s = graph.matmul %q, %k : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
    %m = graph.reduce_max %s {dims = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %d = graph.sub %s, %m : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    %y = graph.matmul %d, %v : (tensor<64x64xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
    graph.yield %y : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.512">],
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.x86.tilezero.internal", load = "llvm.x86.tileloadd64.internal", store = "llvm.x86.tilestored64.internal", product = "llvm.x86.tdpbf16ps.internal", relativeRate = 12, minRows = 6>]>} {
  // expected-error@+1 {{of 20 rows by 32 columns, which are no whole tiles of the matrix unit}}
  plan.kernel @tiles(%x: tensor<64x64xbf16>, %w: tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<64x32xf32> attributes {symbols = [], schedule = #plan.contract<m = 20, n = 32, lanes = 16, unit = matrix>} {
    %0 = graph.matmul %x, %w {to = f32} : (tensor<64x64xbf16>, tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<64x32xf32>
    graph.yield %0 : tensor<64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 64, vectorRegisters = 32, l1Bytes = 32768, l1Ways = 8, l2Bytes = 1048576, l3Bytes = 8388608,
    dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.512">],
    matrices = [#plan.matrix<left = bf16, right = bf16, sum = f32, rows = 16, columns = 16, depth = 32, registers = 8, tile = !llvm.x86_amx, zero = "llvm.x86.tilezero.internal", load = "llvm.x86.tileloadd64.internal", store = "llvm.x86.tilestored64.internal", product = "llvm.x86.tdpbf16ps.internal", relativeRate = 12, minRows = 6>]>} {
  // expected-error@+1 {{without vectorRows, and rows that may be too few for the matrix unit}}
  plan.kernel @few(%x: tensor<?x64xbf16> {graph.dims = [#graph.dim<"s0">, 64]}, %w: tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<?x32xf32> attributes {symbols = ["s0"], schedule = #plan.contract<m = 16, n = 32, lanes = 16, unit = matrix>} {
    %0 = graph.matmul %x, %w {to = f32, graph.dims = [[#graph.dim<"s0">, 32]]} : (tensor<?x64xbf16>, tensor<64x32xbf16, #graph.layout<[1, 0], blockDim = 1, block = 32, groupDim = 0, group = 2>>) -> tensor<?x32xf32>
    graph.yield %0 : tensor<?x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608,
    dots = [#plan.dot<left = bf16, right = bf16, sum = f32, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.256">]>} {
  // expected-error@+1 {{, and scores or weights that are no float32: scratch memory can't hold them}}
  plan.kernel @narrow(%q: tensor<16x64x32xf32>, %k: tensor<16x32x64xf32>, %v: tensor<16x64x32xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = 16, groupDim = 1, group = 2>>) -> tensor<16x64x32xf32> attributes {symbols = [], schedule = #plan.chain<rows = 4, slots = 2, head = #plan.loops<map>, middle = #plan.loops<rows>, tail = #plan.loops<map>>} {
    %s = graph.matmul %q, %k : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
    %m = graph.reduce_max %s {dims = array<i64: 2>} : (tensor<16x64x64xf32>) -> tensor<16x64x1xf32>
    %d = graph.sub %s, %m : (tensor<16x64x64xf32>, tensor<16x64x1xf32>) -> tensor<16x64x64xf32>
    %b = graph.cast %d {to = bf16} : (tensor<16x64x64xf32>) -> tensor<16x64x64xbf16>
    %y = graph.matmul %b, %v {to = f32} : (tensor<16x64x64xbf16>, tensor<16x64x32xbf16, #graph.layout<[0, 2, 1], blockDim = 2, block = 16, groupDim = 1, group = 2>>) -> tensor<16x64x32xf32>
    graph.yield %y : tensor<16x64x32xf32>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@stride has a schedule whose stride, 12, has no room for vectors of 16 channels}}
  plan.kernel @stride(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 16, lanes = 8, stride = 12, slots = 1>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@panels has a schedule of 3 panels at once, which do not divide the 2 that are whole}}
  plan.kernel @panels(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 8, lanes = 8, stride = 16, slots = 1, panels = 3>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{@shared has a schedule of one block, whose 2 whole panels are not those of 2 slots of 2}}
  plan.kernel @shared(%x: tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, %w: tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>> attributes {symbols = [], schedule = #plan.winograd<block = 16, m = 8, n = 8, lanes = 8, stride = 16, slots = 2, panels = 2>} {
    %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf32, #graph.layout<[0, 2, 3, 1]>>, tensor<16x16x3x3xf32, #graph.layout<[2, 3, 0, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>) -> tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
    graph.yield %0 : tensor<1x16x6x6xf32, #graph.layout<[0, 2, 3, 1]>>
  }
}

// -----

// Weights are transformed when compiling.
module attributes {plan.target = #plan.target<vectorBytes = 32, vectorRegisters = 16, l1Bytes = 32768, l1Ways = 8, l2Bytes = 262144, l3Bytes = 8388608>} {
  // expected-error@+1 {{would transform windows by Winograd's method when run, which is done to constants alone}}
plan.kernel @windows(%w: tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>> attributes {symbols = []} {
  %0 = graph.relayout %w : (tensor<16x8x3x3xf32>) -> tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
  graph.yield %0 : tensor<16x8x3x3xf32, #graph.layout<[0, 2, 3, 1], blockDim = 0, block = 16 tile = 2, windows = [2, 3]>>
}
}
