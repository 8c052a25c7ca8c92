// RUN: split-file %s %t
// RUN: hewn-opt %t/ranges.mlir --hewn-quantize-contractions=quantization=%t/ranges.json | FileCheck %t/ranges.mlir
// RUN: hewn-opt %t/groups.mlir --hewn-quantize-contractions=quantization=int4 | FileCheck %t/groups.mlir
// RUN: hewn-opt %t/groups.mlir --hewn-quantize-contractions=quantization=codebook16 | FileCheck %t/groups.mlir --check-prefix=TABLE
// RUN: hewn-opt %t/groups.mlir --hewn-quantize-contractions=quantization=bfloat16 | FileCheck %t/groups.mlir --check-prefix=NARROW
// RUN: hewn-opt %t/groups.mlir --hewn-quantize-contractions=quantization=float8 | FileCheck %t/groups.mlir --check-prefix=BYTE
// RUN: hewn-opt %t/weights.mlir --split-input-file --hewn-quantize-contractions=quantization=float16 --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %t/weights.mlir --check-prefix=FLOATS
// RUN: hewn-opt %t/left.mlir --split-input-file --hewn-quantize-contractions=quantization=%t/ranges.json | FileCheck %t/left.mlir
// RUN: hewn-opt %t/left.mlir --split-input-file --hewn-quantize-contractions=quantization=%t/ranges.json --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %t/left.mlir --check-prefix=REMARK
// RUN: hewn-opt %t/weights.mlir --split-input-file --hewn-quantize-contractions=quantization=%t/weights.json | FileCheck %t/weights.mlir
// RUN: hewn-opt %t/weights.mlir --split-input-file --hewn-quantize-contractions=quantization=%t/weights.json --remarks-filter-missed='.*' -o /dev/null 2>&1 | FileCheck %t/weights.mlir --check-prefix=REMARK
// RUN: not hewn-opt %t/groups.mlir --hewn-quantize-contractions=quantization=int7 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: unknown quantization 'int7'; there are: int8, int4, codebook16, codebook256, float16, bfloat16, float8, or a file that describes one

//--- ranges.json
{
  "sites": [
    {"node": "a", "scale": 0.5, "zero_point": 3},
    {"node": "columns", "scale": 0.5, "bias": [1, 2, 3, 4, 5, 6, 7, 8]},
    {"node": "a:2", "scale": 0.5, "zero_point": 3},
    {"node": "window", "scale": 0.25},
    {"node": "smooth", "scale": 0.25, "smooth": [1, 2, 4, 8]},
    {"node": "big", "scale": 0.25},
    {"node": "computed", "scale": 0.25},
    {"node": "kept", "keep_float": true}
  ]
}

//--- ranges.mlir
// Two contractions of one value share its integers; other users read floats. The largest weight of
// a column is 127.
// CHECK-LABEL: func.func @shared
// CHECK: %[[X:.*]] = graph.relu %arg0
// CHECK: %[[Q:.*]] = graph.quantize %[[X]], %{{.*}}, %{{.*}} {{{.*}}to = ui8}
// CHECK: %[[D:.*]] = graph.dequantize %[[Q]]
// CHECK: %[[WI:.*]] = graph.constant {value = #graph.weight<"{{.*}}int8{{.*}}", 0 : 32>} : tensor<4x8xi8>
// CHECK: %[[S:.*]] = graph.constant {value = #graph.weight<"{{.*}}scale{{.*}}", 0 : 32>} : tensor<1x8xf32>
// CHECK: %[[W:.*]] = graph.dequantize %[[WI]], %[[S]]
// CHECK: graph.matmul %[[D]], %[[W]]
// CHECK: %[[T:.*]] = graph.transpose %[[D]]
// CHECK: graph.matmul %[[T]],
// CHECK: graph.neg %[[X]]
func.func @shared(%a: tensor<4x4xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>) {
  %w = graph.constant {value = dense<1.0> : tensor<4x8xf32>} : tensor<4x8xf32>
  %x = graph.relu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
  %t = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.matmul %t, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
  %2 = graph.neg %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>
}

// The pass quantizes the operand of the padding, not its result, so that the zeros of the padding
// stay for the pass FormIntegerContractions.
// CHECK-LABEL: func.func @border
// CHECK: %[[Q:.*]] = graph.quantize %arg0
// CHECK: %[[D:.*]] = graph.dequantize %[[Q]]
// CHECK: %[[P:.*]] = graph.pad %[[D]]
// CHECK: graph.conv %[[P]],
func.func @border(%x: tensor<1x4x6x6xf32>) -> tensor<1x8x6x6xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<8x4x3x3xf32>} : tensor<8x4x3x3xf32>
  %p = graph.pad %x {high = [0, 0, 1, 1], low = [0, 0, 1, 1]} : (tensor<1x4x6x6xf32>) -> tensor<1x4x8x8xf32>
  %0 = graph.conv %p, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32> loc("window")
  return %0 : tensor<1x8x6x6xf32>
}

// Smoothed channels are quantized with a scale each, and represent the divided values; the weights
// are multiplied, which their scales show.
// CHECK-LABEL: func.func @smooth
// CHECK: %[[S:.*]] = graph.constant {{.*}}divisor{{.*}} : tensor<1x4x1x1xf32>
// CHECK: %[[Q:.*]] = graph.quantize %arg0, %[[S]], %{{.*}} {{{.*}}to = ui8}
// CHECK: %[[D:.*]] = graph.dequantize %[[Q]], %{{.*}} (tensor<1x4x6x6xui8>, tensor<f32>, tensor<ui8>)
// CHECK: graph.conv %[[D]],
func.func @smooth(%x: tensor<1x4x6x6xf32>) -> tensor<1x8x4x4xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<8x4x3x3xf32>} : tensor<8x4x3x3xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x4x6x6xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x4x4xf32> loc("smooth")
  return %0 : tensor<1x8x4x4xf32>
}

// Rounding the weights shifts the mean of each result column. The pass subtracts that shift.
// CHECK-LABEL: func.func @bias
// CHECK: %[[M:.*]] = graph.matmul
// CHECK: %[[B:.*]] = graph.constant {value = #graph.weight<"{{.*}}bias{{.*}}", 0 : 32>} : tensor<1x8xf32>
// CHECK: %[[Y:.*]] = graph.add %[[M]], %[[B]]
// CHECK: return %[[Y]]
func.func @bias(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<4x8xf32>} : tensor<4x8xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("columns")
  return %0 : tensor<4x8xf32>
}

// -----
// The pass stores no weights in smaller float types for a GPU, whose kernels have no extending
// loads. (FLOATS only: int4 is dequantized before.)
#limits = #plan.gpu_limits<registers = 65536, threads = 2048, maxThreadRegisters = 255, registerGranularity = 8, maxBlockThreads = 1024, reservedBlockBytes = 1024, staticSharedBytes = 49152, maxArguments = 440>
#gpuCosts = #plan.gpu_costs<mmaProductsPerCycle = 512, threadProductsPerCycle = 128, instructionsPerCycle = 128, memoryBytesPerCycle = 1000, l2BytesPerCycle = 48, sharedBytesPerCycle = 128, sectorBytes = 32, megahertz = 1500, launchCycles = 3000, blockOverheadCycles = 1200, sliceOverheadCycles = 150, termOverheadCycles = 50, fetchLatencyCycles = 600, tileOverheadCycles = 600, splitOverheadCycles = 2500, memoryLatencyCycles = 800, threadBytesInFlight = 32, latencyHidingThreads = 256>
module attributes {plan.target = #plan.gpu<vectorBytes = 16, l2Bytes = 41943040, processors = 108, warpSize = 32, sharedBytes = 166912, mmasPerProduct = 3, limits = #limits, costs = #gpuCosts>} {
// FLOATS: NotQuantized{{.*}}the target's kernels multiply weights that are extended at compile time
func.func @grid(%x: tensor<1x256xf32>) -> tensor<1x256xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<256x256xf32>} : tensor<256x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32> loc("a")
  return %0 : tensor<1x256xf32>
}
}
//--- groups.mlir
// Weight-only quantization: one scale per 32 elements along K.
// CHECK-LABEL: func.func @groups
// CHECK: %[[Q:.*]] = graph.constant {value = #graph.weight<"{{.*}}int4{{.*}}", 0 : 32768>} : tensor<4x32x256xi4>
// CHECK: %[[S:.*]] = graph.constant {{.*}} : tensor<4x1x256xf32>
// CHECK: %[[W:.*]] = graph.dequantize %[[Q]], %[[S]]
// CHECK: %[[M:.*]] = graph.reshape %[[W]] {{.*}} -> tensor<128x256xf32>
// CHECK: graph.matmul %arg0, %[[M]]

// Weights quantized to a codebook of 16 numbers, with one scale per 32 elements along K.
// TABLE: %[[Q:.*]] = graph.constant {value = #graph.weight<"{{.*}}codebook16{{.*}}", 0 : 32768>} : tensor<4x32x256xui4>
// TABLE-DAG: %[[S:.*]] = graph.constant {value = #graph.weight<"{{.*}}scale{{.*}} : tensor<4x1x256xf32>
// TABLE-DAG: %[[T:.*]] = graph.constant {value = #graph.weight<"{{.*}}table{{.*}} : tensor<16xf32>
// TABLE: %[[W:.*]] = graph.look_up %[[Q]], %[[T]], %[[S]]
// TABLE: %[[M:.*]] = graph.reshape %[[W]] {{.*}} -> tensor<128x256xf32>
// TABLE: graph.matmul %arg0, %[[M]]

// Smaller float types: multiplication and accumulation are in float32. 8-bit floats have one scale
// per column.
// NARROW: %[[W:.*]] = graph.constant {value = #graph.weight<"{{.*}}bfloat16{{.*}}", 0 : 65536>} : tensor<128x256xbf16>
// NARROW: %[[Y:.*]] = graph.matmul %arg0, %[[W]] {graph.keeps_weights, to = f32}
// NARROW: return %[[Y]]
// BYTE: %[[W:.*]] = graph.constant {value = #graph.weight<"{{.*}}float8{{.*}}", 0 : 32768>} : tensor<128x256xf8E4M3FN>
// BYTE: %[[P:.*]] = graph.matmul %arg0, %[[W]] {graph.keeps_weights, to = f32}
// BYTE: %[[S:.*]] = graph.constant {value = #graph.weight<"{{.*}}scale{{.*}} : tensor<1x256xf32>
// BYTE: %[[Y:.*]] = graph.mul %[[P]], %[[S]]
// BYTE: return %[[Y]]
func.func @groups(%x: tensor<1x128xf32>) -> tensor<1x256xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<128x256xf32>} : tensor<128x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x128xf32>, tensor<128x256xf32>) -> tensor<1x256xf32> loc("a")
  return %0 : tensor<1x256xf32>
}

//--- left.mlir
// REMARK: NotQuantized{{.*}}the quantization keeps it in float
// CHECK-LABEL: func.func @kept
// CHECK-NOT: quantize
func.func @kept(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<4x8xf32>} : tensor<4x8xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("kept")
  return %0 : tensor<4x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}both operands are computed at run time
// CHECK-LABEL: func.func @computed
// CHECK-NOT: quantize
func.func @computed(%x: tensor<4x4xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = graph.matmul %x, %y : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("computed")
  return %0 : tensor<4x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}its weights are quantized already
// CHECK-LABEL: func.func @already
// CHECK-NOT: graph.quantize
func.func @already(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %q = graph.constant {value = dense<1> : tensor<4x8xi8>} : tensor<4x8xi8>
  %s = graph.constant {value = dense<0.5> : tensor<f32>} : tensor<f32>
  %w = graph.dequantize %q, %s {to = f32} : (tensor<4x8xi8>, tensor<f32>) -> tensor<4x8xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
  return %0 : tensor<4x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}it is not of float32
// CHECK-LABEL: func.func @half
// CHECK-NOT: quantize
func.func @half(%x: tensor<4x4xf16>) -> tensor<4x8xf16> {
  %w = graph.constant {value = dense<1.0> : tensor<4x8xf16>} : tensor<4x8xf16>
  %0 = graph.matmul %x, %w : (tensor<4x4xf16>, tensor<4x8xf16>) -> tensor<4x8xf16> loc("a")
  return %0 : tensor<4x8xf16>
}
// -----
// REMARK: NotQuantized{{.*}}the range of its left operand is not calibrated
// CHECK-LABEL: func.func @unseen
// CHECK-NOT: quantize
func.func @unseen(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<4x8xf32>} : tensor<4x8xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("unseen")
  return %0 : tensor<4x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}its weights have elements that are not finite
// CHECK-LABEL: func.func @infinite
// CHECK-NOT: quantize
func.func @infinite(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %w = graph.constant {value = dense<0x7F800000> : tensor<4x8xf32>} : tensor<4x8xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
  return %0 : tensor<4x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}the bytes of its weights are not available
// CHECK-LABEL: func.func @elsewhere
// CHECK-NOT: quantize
func.func @elsewhere(%x: tensor<4x4xf32>) -> tensor<4x8xf32> {
  %w = graph.constant {value = #graph.weight<"elsewhere", 0 : 128>} : tensor<4x8xf32>
  %0 = graph.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("a")
  return %0 : tensor<4x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}the bytes of its table are not available
// CHECK-LABEL: func.func @table_elsewhere
// CHECK-NOT: quantize
func.func @table_elsewhere(%i: tensor<2xi64>) -> tensor<2x64xf32> {
  %w = graph.constant {value = #graph.weight<"elsewhere", 0 : 76800>} : tensor<300x64xf32>
  %0 = graph.gather %w, %i {axis = 0 : i64} : (tensor<300x64xf32>, tensor<2xi64>) -> tensor<2x64xf32> loc("a")
  return %0 : tensor<2x64xf32>
}

//--- weights.json
{"weights": {"type": "int4", "group": 32}, "activations": {"type": "float32"}}

//--- weights.mlir
// REMARK: NotQuantized{{.*}}its weights are small, and float weights are faster
// FLOATS: NotQuantized{{.*}}its weights are small, and float weights are faster
// CHECK-LABEL: func.func @small
// CHECK-NOT: dequantize
func.func @small(%x: tensor<1x32xf32>) -> tensor<1x8xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<32x8xf32>} : tensor<32x8xf32>
  %0 = graph.matmul %x, %w : (tensor<1x32xf32>, tensor<32x8xf32>) -> tensor<1x8xf32> loc("a")
  return %0 : tensor<1x8xf32>
}
// -----
// REMARK: NotQuantized{{.*}}the group size of its weights does not divide K
// CHECK-LABEL: func.func @odd
// CHECK-NOT: dequantize
func.func @odd(%x: tensor<1x120xf32>) -> tensor<1x256xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<120x256xf32>} : tensor<120x256xf32>
  %0 = graph.matmul %x, %w : (tensor<1x120xf32>, tensor<120x256xf32>) -> tensor<1x256xf32> loc("a")
  return %0 : tensor<1x256xf32>
}
// -----
// REMARK: NotQuantized{{.*}}its weights are not a [k, n] matrix
// FLOATS: NotQuantized{{.*}}its weights are small, and float weights are faster
// CHECK-LABEL: func.func @window
// CHECK-NOT: dequantize
func.func @window(%x: tensor<1x4x8x8xf32>) -> tensor<1x8x6x6xf32> {
  %w = graph.constant {value = dense<1.0> : tensor<8x4x3x3xf32>} : tensor<8x4x3x3xf32>
  %0 = graph.conv %x, %w {dilations = array<i64: 1, 1>, groups = 1 : i64, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x6x6xf32> loc("a")
  return %0 : tensor<1x8x6x6xf32>
}
