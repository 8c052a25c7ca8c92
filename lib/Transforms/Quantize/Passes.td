// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_QUANTIZE_PASSES
#define HEWN_QUANTIZE_PASSES

include "mlir/Pass/PassBase.td"

def LowerMatmulPrecisionPass : Pass<"hewn-lower-matmul-precision", "::mlir::func::FuncOp"> {
  let summary = "Compute float32 contractions in bfloat16 where that is faster at the requested precision";
  let description = [{
    Rounds or splits the operands of float32 contractions to bfloat16. Accumulators stay float32.
    The option `precision` (`--float32-precision`) selects the form:

    | precision | MMAs per multiply-add | error |
    | --- | --- | --- |
    | `medium` | 1, on rounded operands | 2^-9 of each operand |
    | `high` | 3 (bf16x3): each operand is a sum of 2 components | about 2^-16 |
    | `highest` | 6 (bf16x6): each operand is a sum of 3 components | less than float32 rounding |

    ```mlir
    %y = graph.matmul %x, %w : tensor<6x64xf32>
    // becomes at `medium`
    %xb = graph.cast %x {to = bf16}
    %wb = graph.cast %w {to = bf16}
    %y = graph.matmul %xb, %wb {to = f32} : tensor<6x64xf32>
    // or at `high`
    %x1 = graph.term %x {index = 0, count = 2}
    %x2 = graph.term %x {index = 1, count = 2}
    // %w1 and %w2: the components of %w
    %y = graph.matmul %x1, %w1, %x2, %w2 {to = f32}
    ```

    Multiplying two bfloat16 numbers is exact in float32, so only rounding the operands loses
    accuracy. Targets with bfloat16 instructions multiply at least twice as many bfloat16 numbers as
    float32 numbers in the same time, and the weights have half the bytes. Casts of constants are
    folded. Casts of activations become a second result of the kernel that computes them.
    `plan::gainOfTerms` estimates the gain of split operands; docs/decisions/numbers/split-bf16.md
    has measurements.

    On GPU targets, precision `medium` doubles the rate of the MMA instruction. GPU kernels
    implement the precisions `high` and `highest` in the MMA itself, without this pass. If the GEMM
    is too skinny for MMA instructions, or if it is small and rounding its activations would need a
    separate kernel, only the weights are rounded; the kernel extends them when it reads them.

    Not lowered:

    - targets whose bfloat16 instructions do not pay (`dots`, `matrices` and `simt` of
      `plan.target`)
    - skinny GEMMs with a computed right operand, and GEMMs on a matrix unit whose right operand
      would have to be packed in every run
    - depthwise and grouped convolutions, an odd or small K, a small N
    - packed low-bit weights
    - convolutions for which Winograd in float32 is faster
    - at `highest`: a dynamic number of rows (it may be small) and constants that several variants
      of the code share
  }];
  let options = [Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "Precision of float32 contractions", "::hewn::precisionValues()">];
}

def PackLowBitWeightsPass : Pass<"hewn-pack-low-bit-weights", "::mlir::func::FuncOp"> {
  let summary = "Keep low-bit weights packed where contractions dequantize them in the kernel";
  let description = [{
    Packs the constant integer weights of a float contraction into 32-bit words, which the kernel
    dequantizes in registers or one panel at a time. A GEMV is bound by memory bandwidth, so it then
    takes only the time of reading the integers. The weight file stores only the integers.

    ```mlir
    %w = graph.dequantize %q, %s : (tensor<4096x64xi4>, tensor<1x64xf32>)
    %y = graph.matmul %x, %w
    // becomes
    %c = graph.encode %q : tensor<4096x64xi4> -> tensor<512x64xui32>
    %w = graph.decode %c, %s {bits = 4, block = 4096}
    %y = graph.matmul %x, %w
    ```

    Indices into a lookup table (`graph.look_up`) become `graph.decode_by_table`. The op that packs
    the weights (`graph.encode`) is folded at compile time. Scales may differ by blocks of K. If K
    does not fill the last word, K is padded in both operands. Operands in float16 or bfloat16 are
    multiplied in float32, and the result is rounded.

    Not packed, and folded to float:

    - small weights (`graph::kSmallWeights`)
    - right operands that are not a [k, n] matrix, such as filters of convolutions
    - GPU targets
    - GEMMs with many rows on targets without integer instructions

    Contractions whose other operand is quantized as well have been rewritten before, by
    `hewn-form-integer-contractions`.
  }];
  let options = [Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "Precision of float32 contractions", "::hewn::precisionValues()">];
}

def SinkWeightScalesPass : Pass<"hewn-sink-weight-scales", "::mlir::func::FuncOp"> {
  let summary = "Keep 8-bit weights of float contractions and apply their scales after accumulation";
  let description = [{
    All weights of a column have the same scale, so the scale can be multiplied with the accumulator
    after the reduction. The pass therefore multiplies the result by the scales, not the weights.
    The multiplication becomes the kernel's epilogue, and the kernel extends the integers to float32
    when it reads them. The result is as accurate, and the weight file has a quarter of the bytes.

    ```mlir
    %w = graph.dequantize %q, %s : (tensor<64x32x3x3xi8>, tensor<64x1x1x1xf32>)
    %y = graph.conv %x, %w
    // becomes
    %p = graph.conv %x, %q {to = f32} : (..xf32, ..xi8) -> ..xf32
    %y = graph.mul %p, %s
    ```

    Zero points are subtracted from the weights at compile time. The difference fits 8 bits if the
    zero point is the midpoint of an unsigned type. Otherwise it is stored as float16, whose 11
    significand bits hold it exactly. Filters of Winograd convolutions become float16 as well
    (`hewn-legalize-matmul-types`).

    Computed 8-bit right operands, such as a decoder's key and value cache, are rewritten if the
    GEMM has one row. The row is then multiplied by scales along K before the contraction, and the
    zero point times the sum of the row is subtracted from the result. With more rows, the right
    operand is dequantized to a float copy once.

    Not rewritten, and folded to float:

    - scales that differ along K or along rows
    - depthwise and grouped convolutions
    - contractions that a bfloat16 instruction, a matrix unit or a Winograd tile of float32 computes
      faster
    - GPU targets
    - matrices that `hewn-pack-low-bit-weights` packs
  }];
  // The pass evaluates the elementwise ops that compute zero points.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "Precision of float32 contractions", "::hewn::precisionValues()">];
}

def FormIntegerContractionsPass : Pass<"hewn-form-integer-contractions", "::mlir::func::FuncOp"> {
  let summary = "Compute contractions of two dequantized tensors on their 8-bit integers";
  let description = [{
    ```mlir
    %a = graph.dequantize %x, %sx, %zx
    %b = graph.dequantize %w, %sw
    %y = graph.matmul %a, %b : tensor<..xf32>
    // becomes
    %s = graph.matmul %x, %w {to = i32} : (..xui8, ..xi8) -> ..xi32
    %c = graph.reduce_sum %w                   // in i32, over k
    %y = cast(%s - %zx * %c) * (%sx * %sw)     // elementwise
    ```

    With zero points `zx` and `zw`: Σ (x - zx)(w - zw) = Σ x w - zx (Σ w - k zw) - zw Σ x (Jacob et
    al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
    Inference", 2018). Expressions of the weights alone are folded. The rest is elementwise on the
    accumulators and becomes the kernel's epilogue. For a convolution, Σ x is summed along the
    channels first, and then over the windows, by a convolution with one channel and one column.

    The operands are converted to a combination of signs for which the target has an instruction
    (`dots` and `matrices` of `plan.target`). The conversion adds or subtracts 128 to the integers
    and their zero points. If several combinations exist, the pass prefers weights without a zero
    point, then activations without a conversion. K is padded to a multiple of 4. Zero padding of a
    convolution becomes padding with the zero point.

    The right operand of a contraction may be computed at run time, as in attention. A later pass
    then inserts the op that packs it for dot products. For the zero points of both operands, sums
    along K are computed at run time. If the target has only 16-bit dot products, the zero points
    are subtracted from the integers before the contraction instead. All scales and zero points that
    broadcast to the result are supported.

    MatMulInteger may have any K, including a dynamic one, because its int32 result wraps by
    definition. Other contractions with a dynamic K need an upper bound of K from the user.
    See docs/decisions/numbers/int8-activation-matmul.md.

    Not rewritten, each with a `NotInteger` remark:

    - contractions that the cost model (`ProductCost.h`) expects to be faster in float, such as
      those with a Winograd form (docs/decisions/kernels/int8-without-vnni.md)
    - scales or zero points that vary along K, or along rows for the left operand
    - depthwise and grouped convolutions, a small N
    - float results whose int32 accumulator could overflow
    - with a computed right operand: skinny GEMMs, convolutions, GPU targets
  }];
  // The pass evaluates the elementwise ops that compute zero points.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def RaiseDequantizePass : Pass<"hewn-raise-dequantize", "::mlir::func::FuncOp"> {
  let summary = "Raise elementwise ops that convert constant low-bit integers to float to graph.dequantize";
  let description = [{
    Exporters write the dequantization of weights as many different sequences of elementwise ops.
    The pass replaces them by one op.

    ```mlir
    %f = graph.cast %q {to = f32}
    %c = graph.sub %f, %z
    %w = graph.mul %c, %s
    %y = graph.matmul %x, %w
    // becomes
    %w = graph.dequantize %q, %scale, %zero
    %y = graph.matmul %x, %w
    ```

    The pass does not match op patterns. It evaluates the ops for every value of the integer type
    and every element of the other operands. The results must equal `(q - zero) * scale` bit for
    bit, with an integer `zero`, so the model computes the same numbers.

    Not raised: small weights, floats that depend on several integer tensors, and pipelines without
    a constant evaluator.
  }];
}

def GatherBeforeDequantizePass : Pass<"hewn-gather-before-dequantize", "::mlir::func::FuncOp"> {
  let summary = "Gather rows of a quantized embedding table first, then dequantize only those rows";
  let description = [{
    ```mlir
    %w = graph.dequantize %q, %s : (tensor<30000x384xi8>, tensor<30000x1xf32>)
    %y = graph.gather %w, %i {axis = 0}
    // becomes
    %r = graph.gather %q, %i {axis = 0}
    %t = graph.gather %s, %i {axis = 0}
    %y = graph.dequantize %r, %t
    ```

    The embedding table stays in its low-bit type, in the weight file and in memory, and only the
    gathered rows are converted. All elementwise ops between the constants and the gather are sunk.
    Operands that vary along the gathered dim are gathered as well; other operands are broadcast as
    before. The results are the same, except that a kernel may contract a multiplication and an
    addition to an FMA (docs/decisions/numbers/fma-contraction.md).

    Not rewritten, and folded to float:

    - tables whose constants have at least as many bits per element as the result
    - small tables, and tables with one row
    - elements of less than a byte (no kernel gathers these)
    - gathers of more elements than the table has
    - models that are partitioned over ranks (their tables are sharded as float)
  }];
}

def InsertObserversPass : Pass<"hewn-insert-observers", "::mlir::func::FuncOp"> {
  let summary = "Return the activations that would be quantized, so that calibration runs can observe them";
  let description = [{
    ```mlir
    %a = graph.relu %x
    %y = graph.matmul %a, %w
    return %y
    // becomes
    %a = graph.relu %x
    %y = graph.matmul %a, %w
    return %y, %a
    ```

    If an activation is a view, calibration observes the view's source, because both have the same
    range. Rounding methods that need the rows of the operand (GPTQ, codebooks) observe the operand
    itself.

    Not observed: values inside of branches and loops, contractions that stay float, contractions
    whose range is known.
  }];
}

def QuantizeContractionsPass : Pass<"hewn-quantize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Insert the quantize and dequantize ops that a quantization describes";
  let description = [{
    Quantizes float contractions with constant weights, as the quantization (docs/quantization.md)
    describes.

    ```mlir
    %y = graph.matmul %x, %w
    // becomes, with integers for both operands
    %q = graph.quantize %x, 0.02, 114 {to = ui8}
    %a = graph.dequantize %q, 0.02, 114
    %b = graph.dequantize %wi, %sw                 // constants
    %y = graph.matmul %a, %b
    // or, with weights in a codebook
    %w = graph.look_up %codes, %table, %scale
    %y = graph.matmul %x, %w
    // or, with weights in a smaller float type; float8 has scales
    %p = graph.matmul %x, %w8 {to = f32}
    %y = graph.mul %p, %scale
    ```

    Smoothing (SmoothQuant) adds no op: the factors are part of the scales of `graph.quantize`,
    which then has one scale per channel, and the weights are multiplied by the factors. `%a` is
    then `%x` divided by the factors.

    `hewn-form-integer-contractions` and `hewn-pack-low-bit-weights` lower the quantized
    contractions. Contractions that read the same activation share one integer tensor; its other
    users read the float tensor.

    Not quantized, each with a `NotQuantized` remark: contractions of two computed operands,
    contractions without an integer form, operands without calibration statistics.
  }];
  let options = [Option<"text", "quantization", "std::string", "\"int8\"",
                        "Name of a preset, a file, or the text of a quantization">,
                 Option<"tables", "tables", "bool", "true", "Quantize embedding tables, too">,
                 Option<"precision", "precision", "::hewn::Precision", "::hewn::Precision::Highest",
                        "Precision of float32 contractions", "::hewn::precisionValues()">];
}

def LegalizeMatmulTypesPass : Pass<"hewn-legalize-matmul-types", "::mlir::func::FuncOp"> {
  let summary = "Extend contraction operands and accumulators to types that the target has instructions for";
  let description = [{
    8-bit integer operands: a target without 4-way 8-bit dot products multiplies pairs of i16 (x86:
    pmaddwd). A target without either instruction multiplies i32. Casts of constants are folded;
    casts of activations fuse into their producer.

    ```mlir
    %y = graph.matmul %x, %w {to = i32} : (..xui8, ..xi8) -> ..xi32
    // becomes
    %xw = graph.cast %x {to = i16}
    %ww = graph.cast %w {to = i16}
    %y = graph.matmul %xw, %ww {to = i32} : (..xi16, ..xi16) -> ..xi32
    ```

    float16 and bfloat16 operands: the accumulators are float32, and the result is rounded once. If
    another contraction reads the result, it reads the float32 accumulators before the rounding.
    Operands keep their type if the target has instructions for it (bfloat16) and, for a computed
    right operand, enough rows use it.

    ```mlir
    %y = graph.matmul %x, %w : (..xf16, ..xf16) -> ..xf16
    // becomes, with both operands cast to f32
    %s = graph.matmul %xw, %ww {to = f32}
    %y = graph.cast %s {to = f16}
    ```

    16-bit constants stay 16-bit where the target extends them as fast as it reads them: they have
    half the bytes, and a tile with several rows hides the conversion. 8-bit constants stay 8-bit
    for the same reason. Winograd filters are transformed to float16 if float16 has the range and
    the significand bits for them, otherwise to float32. The transformed filter of an 8-bit constant
    always fits float16.

    Not changed: contractions for which the target has instructions (`dots` of `plan.target`, or
    MMA), weights that the quantization keeps in their type, and float contractions on GPU targets
    (their kernels extend the operands).
  }];
  let options = [Option<"largestTile", "largest-tile", "int64_t", /*default=*/"0",
                        "Largest output tile of Winograd convolutions; 0 disables Winograd">];
}

#endif
