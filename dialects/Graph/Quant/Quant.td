// SPDX-License-Identifier: Apache-2.0
//
// Quantization: between numbers and small integers (or float8) by a scale and a zero point, which broadcast to the data: the
// importer brings scales a channel or a block into that form. Products of quantized tensors are contractions of i32.
#ifndef HEWN_GRAPH_QUANT
#define HEWN_GRAPH_QUANT

include "dialects/Graph/GraphKinds.td"

def Graph_QuantizeOp : Elementwise<"quantize", (ins Tensor:$x, Tensor:$scale, Optional<Tensor>:$zeroPoint, TypeAttr:$to,
                                                    DefaultValuedAttr<BoolAttr, "false">:$multiply, DefaultValuedAttr<BoolAttr, "true">:$saturate),
    "quantize(e, operandType(0), operandType(1), getTo(), getMultiply(), getSaturate(), in)", "verifyQuantize(*this, getTo())", "getTo()", [Discontinuous]> {
  let summary = "round(x / scale) + zeroPoint, saturated; halves round to even, a NaN gives the smallest integer.";
  let description = "`multiply`: x * scale, as where an accumulator is quantized by one combined factor.";
  let onnx = [Onnx<"QuantizeLinear", 10, 0, "buildQuantize">, Onnx<"QuantizeLinear", 1, 0, "buildQuantize", "com.microsoft">];
}
def Graph_QuantizeByReciprocalOp : Elementwise<"quantize_by_reciprocal",
    (ins Tensor:$x, Tensor:$factor, Tensor:$rest, Tensor:$least, Tensor:$greatest, Optional<Tensor>:$zeroPoint, TypeAttr:$to),
    "quantizeByReciprocal(e, getTo(), in)", "verifyQuantizeByReciprocal(*this, getTo())", "getTo()", [Discontinuous]> {
  let summary = "round(x * (factor + rest)) + zeroPoint modulo 256, of x clamped to [least, greatest]; a NaN is the least.";
  let description = [{
    graph.quantize for a scale that is known when compiling: a pass has found factor + rest, its reciprocal in two floats, to give the same integers,
    and what x gives the least and the greatest of them. To float32 it is the integers before a zero point is added.
  }];
}
def Graph_DequantizeOp : Elementwise<"dequantize", (ins Tensor:$x, Tensor:$scale, Optional<Tensor>:$zeroPoint, TypeAttr:$to),
    "dequantize(e, operandType(0), operandType(1), getTo(), in)", "verifyDequantize(*this, getTo())", "getTo()", [QuantizedOpInterface]> {
  let summary = "(x - zeroPoint) * scale.";
  let extraClassDeclaration = [{
    ::mlir::Value getQuantizedScale() { return getScale(); }
    ::mlir::Value getQuantizedZero() { return getZeroPoint(); }
  }];
  let onnx = [Onnx<"DequantizeLinear", 10, 0, "buildDequantize">, Onnx<"DequantizeLinear", 1, 0, "buildDequantize", "com.microsoft">];
}

def Graph_MapCodesOp : Elementwise<"map_codes", (ins Tensor:$x, ElementsAttr:$table), "mapCodes(e, operandType(0), getTable(), in)",
    "verifyMapCodes(*this, getTable())", "getTable().getElementType()", [Discontinuous]> {
  let summary = "table[x], of integers of 8 bits: the table has a number for each of the 256, the smallest integer's first.";
  let description = "What ops make of one quantized number (hewn-tabulate-codes). The table lies in the code, and numbers in it are float32s or integers of at most 16 bits.";
}

def Graph_CenterOp : Elementwise<"center", (ins Tensor:$x, Optional<Tensor>:$zeroPoint), "center(e, operandType(0), in)",
    "verifyCenter(*this)", "::mlir::IntegerType::get(getContext(), 32)", [QuantizedOpInterface]> {
  let summary = "x - zeroPoint as i32, of integers of 16 bits or less.";
  let extraClassDeclaration = [{
    ::mlir::Value getQuantizedScale() { return {}; }
    ::mlir::Value getQuantizedZero() { return getZeroPoint(); }
  }];
}

def Graph_DecodeOp : Move<"decode", [], [DeclareOpInterfaceMethods<CodedOpInterface>]> {
  let summary = "A matrix [k, n] of code * scale[k / block, n] + offset[k / block, n], codes of `bits` bits in words [k * bits / 32, n].";
  let description = [{
    Weights of few bits: a kernel that waits for memory reads them as they are. Codes are unsigned, the lowest bits of a word are the
    first of the 32 / `bits` rows in it; scales and offsets are float32, as is the result. Without an offset the middle code,
    2^(bits - 1), is zero. `roundsData`: a contraction may round what it multiplies the matrix by to 8 bits a block.
  }];
  let arguments = (ins Tensor:$codes, Tensor:$scale, Optional<Tensor>:$offset, I64Attr:$bits, I64Attr:$block,
                       DefaultValuedAttr<BoolAttr, "false">:$roundsData);
}

def Graph_LookUpOp : Move<"look_up", [], [QuantizedOpInterface]> {
  let summary = "table[code] * scale, of integers without a sign; the table, of float32s, has one for each that there may be.";
  let description = "The scale broadcasts to the codes. Weights of a codebook: numbers that no scale makes evenly spaced integers of (codebookOf).";
  let arguments = (ins Tensor:$codes, Tensor:$table, Tensor:$scale);
  let extraClassDeclaration = [{
    ::mlir::Value getQuantizedScale() { return getScale(); }
    ::mlir::Value getQuantizedZero() { return {}; }
  }];
}

def Graph_DecodeByTableOp : Move<"decode_by_table", [], [DeclareOpInterfaceMethods<CodedOpInterface>]> {
  let summary = "A matrix [k, n] of table[code] * scale[k / block, n], codes of 4 or 8 bits in words as graph.decode has them.";
  let description = [{
    The table is of float32, one for each code, and all of the matrix's. `inBytes`: its numbers are known to be multiples of 1/32, from -31/32
    to 1, so that integers of 8 bits stand for them.
  }];
  let arguments = (ins Tensor:$codes, Tensor:$scale, Tensor:$table, I64Attr:$bits, I64Attr:$block,
                       DefaultValuedAttr<BoolAttr, "false">:$inBytes);
}

def Graph_EncodeOp : Move<"encode"> {
  let summary = "Integers [k, n] of 2, 4 or 8 bits in words [ceil(k * bits / 32), n], as graph.decode has them.";
  let description = "Signed integers become unsigned ones: 2^(bits - 1) is added. Behind the last row are zeros.";
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
