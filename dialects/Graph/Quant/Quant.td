// SPDX-License-Identifier: Apache-2.0
//
// Quantization: conversion between numbers and small integers (or float8) by a scale and a zero
// point, which broadcast to the data. The importer converts scales per channel or per block to this
// form. Contractions of quantized tensors have i32 accumulators.
#ifndef HEWN_GRAPH_QUANT
#define HEWN_GRAPH_QUANT

include "dialects/Graph/GraphKinds.td"

def Graph_QuantizeOp : Elementwise<"quantize", (ins Tensor:$x, Tensor:$scale, Optional<Tensor>:$zeroPoint, TypeAttr:$to,
                                                    DefaultValuedAttr<BoolAttr, "false">:$multiply,
                                                    DefaultValuedAttr<BoolAttr, "true">:$saturate),
    "quantize(e, operandType(0), operandType(1), getTo(), getMultiply(), getSaturate(), in)",
    "verifyQuantize(*this, getTo())", "getTo()", [Discontinuous]> {
  let summary = "round(x / scale) + zeroPoint, saturated; ties round to even, NaN gives the smallest integer";
  let description = "With `multiply`, computes x * scale instead, so that one factor quantizes an accumulator.";
  let onnx = [Onnx<"QuantizeLinear", 10, 0, "buildQuantize">,
              Onnx<"QuantizeLinear", 1, 0, "buildQuantize", "com.microsoft">];
}
def Graph_QuantizeByReciprocalOp : Elementwise<"quantize_by_reciprocal",
    (ins Tensor:$x, Tensor:$factor, Tensor:$rest, Tensor:$least, Tensor:$greatest, Optional<Tensor>:$zeroPoint,
         TypeAttr:$to),
    "quantizeByReciprocal(e, getTo(), in)", "verifyQuantizeByReciprocal(*this, getTo())", "getTo()", [Discontinuous]> {
  let summary = "round(x * (factor + rest)) + zeroPoint modulo 256, x clamped to [least, greatest]; NaN gives least";
  let description = [{
    Replaces a graph.quantize with a constant scale, and computes it without a division. factor +
    rest is the reciprocal of the scale in two floats. A pass has verified that the integers are
    equal to those of a division for every x. `least` and `greatest` are the x for the smallest and
    the largest integer. If `to` is float32, the result is the rounded value before the zero point
    is added.

    ```mlir
    %q = graph.quantize %x, %scale, %zero
    // becomes
    %q = graph.quantize_by_reciprocal %x, %factor, %rest, %least, %greatest, %zero
    ```
  }];
}
def Graph_DequantizeOp : Elementwise<"dequantize",
    (ins Tensor:$x, Tensor:$scale, Optional<Tensor>:$zeroPoint, TypeAttr:$to),
    "dequantize(e, operandType(0), operandType(1), getTo(), in)", "verifyDequantize(*this, getTo())", "getTo()",
    [QuantizedOpInterface]> {
  let summary = "(x - zeroPoint) * scale";
  let extraClassDeclaration = [{
    ::mlir::Value getQuantizedScale() { return getScale(); }
    ::mlir::Value getQuantizedZero() { return getZeroPoint(); }
  }];
  let onnx = [Onnx<"DequantizeLinear", 10, 0, "buildDequantize">,
              Onnx<"DequantizeLinear", 1, 0, "buildDequantize", "com.microsoft">];
}

def Graph_MapCodesOp : Elementwise<"map_codes", (ins Tensor:$x, ElementsAttr:$table),
    "mapCodes(e, operandType(0), getTable(), in)", "verifyMapCodes(*this, getTable())", "getTable().getElementType()",
    [Discontinuous]> {
  let summary = "table[x] for 8-bit integers; the 256 entries start with the one for the smallest integer";
  let description = [{
    Replaces a chain of ops on one quantized value by a lookup table (hewn-fold-to-lookup-table).
    The table is a constant in the generated code. Its entries are float32 or integers of at most 16
    bits.
  }];
}

def Graph_CenterOp : Elementwise<"center", (ins Tensor:$x, Optional<Tensor>:$zeroPoint),
                                 "center(e, operandType(0), in)",
    "verifyCenter(*this)", "::mlir::IntegerType::get(getContext(), 32)", [QuantizedOpInterface]> {
  let summary = "x - zeroPoint as i32, for integers of at most 16 bits";
  let extraClassDeclaration = [{
    ::mlir::Value getQuantizedScale() { return {}; }
    ::mlir::Value getQuantizedZero() { return getZeroPoint(); }
  }];
}

def Graph_DecodeOp : Move<"decode", [], [DeclareOpInterfaceMethods<PackedWeightsOpInterface>]> {
  let summary = "Unpacks low-bit weights: a matrix [k, n] of code * scale[k / block, n] + offset[k / block, n]";
  let description = [{
    The quantized values have `bits` bits each and are unsigned. They are packed in 32-bit words [k
    * bits / 32, n]: a word has 32 / `bits` values that are neighbors along K, the first one in its
    lowest bits. Scales, offsets and the result are float32. Without an offset, the zero point is
    the midpoint 2^(bits - 1). A memory-bound contraction reads the packed words directly. With
    `roundsData`, it may round the activations to 8 bits per block.
  }];
  let arguments = (ins Tensor:$codes, Tensor:$scale, Optional<Tensor>:$offset, I64Attr:$bits, I64Attr:$block,
                       DefaultValuedAttr<BoolAttr, "false">:$roundsData);
}

def Graph_LookUpOp : Move<"look_up", [], [QuantizedOpInterface]> {
  let summary = "table[code] * scale for unsigned integers";
  let description = [{
    Dequantizes codebook weights, whose values are not evenly spaced (codebookOf). The table has one
    float32 for each possible integer, and the scale broadcasts to the integers.
  }];
  let arguments = (ins Tensor:$codes, Tensor:$table, Tensor:$scale);
  let extraClassDeclaration = [{
    ::mlir::Value getQuantizedScale() { return getScale(); }
    ::mlir::Value getQuantizedZero() { return {}; }
  }];
}

def Graph_DecodeByTableOp : Move<"decode_by_table", [], [DeclareOpInterfaceMethods<PackedWeightsOpInterface>]> {
  let summary = "Unpacks low-bit weights by a lookup table: a matrix [k, n] of table[code] * scale[k / block, n]";
  let description = [{
    Quantized values of 4 or 8 bits are packed as for graph.decode. The table has one float32 for
    each possible value and is shared by the whole matrix. With `inBytes`, all entries are known to
    be multiples of 1/32 between -31/32 and 1, so that they fit in 8-bit integers.
  }];
  let arguments = (ins Tensor:$codes, Tensor:$scale, Tensor:$table, I64Attr:$bits, I64Attr:$block,
                       DefaultValuedAttr<BoolAttr, "false">:$inBytes);
}

def Graph_EncodeOp : Move<"encode"> {
  let summary = "Packs integers [k, n] of 2, 4 or 8 bits in 32-bit words [ceil(k * bits / 32), n], as for graph.decode";
  let description = "Signed integers are made unsigned by adding 2^(bits - 1). The last word is padded with zeros.";
  let arguments = (ins Tensor:$numbers);
}

def : OnnxCompose<"DynamicQuantizeLinear", "buildDynamicQuantize", 11>;
def : OnnxCompose<"MatMulInteger", "buildMatMulInteger", 10>;
def : OnnxCompose<"ConvInteger", "buildConvInteger", 10>;
def : OnnxCompose<"QLinearMatMul", "buildQLinearMatMul", 10, 0, "", ["operands of integers"]>;
def : OnnxCompose<"QLinearConv", "buildQLinearConv", 10>;

class Microsoft<string op, string build> : OnnxCompose<op, build, 1, 0, "com.microsoft">;
def : Microsoft<"QLinearAdd", "buildQLinearBinary">;
def : Microsoft<"QLinearMul", "buildQLinearBinary">;
def : Microsoft<"QLinearSigmoid", "buildQLinearUnary">;
def : Microsoft<"QLinearLeakyRelu", "buildQLinearUnary">;
def : Microsoft<"QLinearSoftmax", "buildQLinearUnary">;
def : Microsoft<"QLinearGlobalAveragePool", "buildQLinearUnary">;
def : Microsoft<"QLinearAveragePool", "buildQLinearUnary">;
def : Microsoft<"QLinearConcat", "buildQLinearConcat">;
def : Microsoft<"QGemm", "buildQGemm">;
def : Microsoft<"MatMulIntegerToFloat", "buildMatMulIntegerToFloat">;
def : Microsoft<"DynamicQuantizeMatMul", "buildDynamicQuantizeMatMul">;
def : Microsoft<"MatMulNBits", "buildMatMulNBits">;
def : Microsoft<"GatherBlockQuantized", "buildGatherBlockQuantized">;
def : Microsoft<"QAttention", "buildQAttention">;

#endif
