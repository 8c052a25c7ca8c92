// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops, one per row (GraphKinds.td describes the rows). Activations are in
// Activation.td.
#ifndef HEWN_GRAPH_ELEMENTWISE
#define HEWN_GRAPH_ELEMENTWISE

include "dialects/Graph/GraphKinds.td"

class Predicate<string mnemonic, dag args, string accepts, string body>
    : Elementwise<mnemonic, args, body, "verifySameElementType(*this, Accepts::" # accepts # ")",
                  "::mlir::IntegerType::get(getContext(), 1)", [Discontinuous]>;
class Compare<string mnemonic, string accepts, string order>
    : Predicate<mnemonic, (ins Tensor:$a, Tensor:$b), accepts, "compare(e, kind, Order::" # order # ", in[0], in[1])">;
// ONNX record of an old version of a binary op. Up to opset 6, attributes state how the operands
// broadcast; since opset 7, their dims do.
class OldBroadcast<string op> : Onnx<op, 1, 6, "buildOldBroadcast">;

//===------------------------------------------------------------------------------------------===//
// Arithmetic
//===------------------------------------------------------------------------------------------===//

def Graph_AddOp : Binary<"add", "Number", "add(e, kind, in[0], in[1])"> {
  let onnx = [OldBroadcast<"Add">, Onnx<"Add", 7>];
}
def Graph_SubOp : Binary<"sub", "Number", "sub(e, kind, in[0], in[1])"> {
  let onnx = [OldBroadcast<"Sub">, Onnx<"Sub", 7>];
}
def Graph_MulOp : Binary<"mul", "Number", "mul(e, kind, in[0], in[1])"> {
  let onnx = [OldBroadcast<"Mul">, Onnx<"Mul", 7>];
}
def Graph_DivOp : Binary<"div", "Number", "div(e, kind, in[0], in[1])"> {
  let onnx = [OldBroadcast<"Div">, Onnx<"Div", 7>];
}
def Graph_NegOp : Unary<"neg", "Number", "neg(e, kind, in[0])"> { let onnx = [Onnx<"Neg">]; }
def Graph_AbsOp : Unary<"abs", "Number", "abs(e, kind, in[0])"> { let onnx = [Onnx<"Abs">]; }
def Graph_SignOp : Unary<"sign", "Number", "sign(e, kind, in[0])", [Discontinuous]> { let onnx = [Onnx<"Sign">]; }
def Graph_MinimumOp : Binary<"minimum", "Any", "minimum(e, kind, in[0], in[1])"> {
  let onnx = [Onnx<"Min", 1, 0, "buildVariadic">];
}
def Graph_MaximumOp : Binary<"maximum", "Any", "maximum(e, kind, in[0], in[1])"> {
  let onnx = [Onnx<"Max", 1, 0, "buildVariadic">];
}
def Graph_ReciprocalOp : Unary<"reciprocal", "Float", "div(e, kind, constant(e, in[0], 1.0), in[0])"> {
  let onnx = [Onnx<"Reciprocal">];
}
def Graph_SqrtOp : Unary<"sqrt", "Float", "math::SqrtOp::create(e, in[0])", [Discontinuous]> {
  let onnx = [Onnx<"Sqrt">];
}
def Graph_FloorOp : Unary<"floor", "Float", "math::FloorOp::create(e, in[0])", [Discontinuous]> {
  let onnx = [Onnx<"Floor">];
}
def Graph_CeilOp : Unary<"ceil", "Float", "math::CeilOp::create(e, in[0])", [Discontinuous]> {
  let onnx = [Onnx<"Ceil">];
}
def Graph_RoundOp : Unary<"round", "Float", "math::RoundEvenOp::create(e, in[0])", [Discontinuous]> {
  let summary = "Rounds to the nearest integer, ties to even";
  let onnx = [Onnx<"Round">];
}
def Graph_PowOp : Elementwise<"pow", (ins Tensor:$a, Tensor:$b),
    "pow(e, operandType(0), operandType(1), in[0], in[1])", "verifyNumeric(*this)", "operandType(0)", [Discontinuous]> {
  let summary = "a to the power of b; the types may differ, and the result has the type of a";
  let onnx = [OldBroadcast<"Pow">, Onnx<"Pow", 7, 0, "buildPow">];
}
def Graph_ModOp : Elementwise<"mod", (ins Tensor:$a, Tensor:$b, DefaultValuedAttr<I64Attr, "0">:$fmod),
    "remainder(e, kind, getFmod() != 0, in[0], in[1])", "verifySameElementType(*this, Accepts::Number)",
    "operandType(0)", [Discontinuous]> {
  let summary = "Remainder of a / b, with the sign of b, or of a if `fmod` is set";
  let onnx = [Onnx<"Mod">];
}

def : OnnxCompose<"Sum", "buildVariadic">;
def : OnnxCompose<"Mean", "buildVariadic">;
def : OnnxCompose<"Clip", "buildClip">;

//===------------------------------------------------------------------------------------------===//
// Functions
//===------------------------------------------------------------------------------------------===//

class MathFunction<string mnemonic, string mathOp, string onnxName, list<Trait> traits = []>
    : Unary<mnemonic, "Float", "math::" # mathOp # "::create(e, in[0])", traits> {
  let onnx = [Onnx<onnxName>];
}

def Graph_ExpOp : MathFunction<"exp", "ExpOp", "Exp">;
def Graph_LogOp : MathFunction<"log", "LogOp", "Log", [Discontinuous]>;
def Graph_ErfOp : MathFunction<"erf", "ErfOp", "Erf"> { let onnx = [Onnx<"Erf", 1, 0, "buildErf">]; }
def Graph_SinOp : MathFunction<"sin", "SinOp", "Sin">;
def Graph_CosOp : MathFunction<"cos", "CosOp", "Cos">;
def Graph_TanOp : MathFunction<"tan", "TanOp", "Tan">;
def Graph_AsinOp : MathFunction<"asin", "AsinOp", "Asin", [Discontinuous]>;
def Graph_AcosOp : MathFunction<"acos", "AcosOp", "Acos", [Discontinuous]>;
def Graph_AtanOp : MathFunction<"atan", "AtanOp", "Atan">;
def Graph_SinhOp : MathFunction<"sinh", "SinhOp", "Sinh">;
def Graph_CoshOp : MathFunction<"cosh", "CoshOp", "Cosh">;
def Graph_TanhOp : MathFunction<"tanh", "TanhOp", "Tanh">;
def Graph_AsinhOp : MathFunction<"asinh", "AsinhOp", "Asinh">;
def Graph_AcoshOp : MathFunction<"acosh", "AcoshOp", "Acosh", [Discontinuous]>;
def Graph_AtanhOp : MathFunction<"atanh", "AtanhOp", "Atanh", [Discontinuous]>;

//===------------------------------------------------------------------------------------------===//
// Comparison, choice
//===------------------------------------------------------------------------------------------===//

def Graph_EqualOp : Compare<"equal", "Any", "Equal"> {
  let onnx = [OldBroadcast<"Equal">, Onnx<"Equal", 7, 0, "buildEqual">];
}
def Graph_LessOp : Compare<"less", "Number", "Less"> { let onnx = [OldBroadcast<"Less">, Onnx<"Less", 7>]; }
def Graph_LessOrEqualOp : Compare<"less_or_equal", "Number", "LessOrEqual"> { let onnx = [Onnx<"LessOrEqual">]; }
def Graph_GreaterOp : Compare<"greater", "Number", "Greater"> {
  let onnx = [OldBroadcast<"Greater">, Onnx<"Greater", 7>];
}
def Graph_GreaterOrEqualOp : Compare<"greater_or_equal", "Number", "GreaterOrEqual"> {
  let onnx = [Onnx<"GreaterOrEqual">];
}
def Graph_IsNaNOp : Predicate<"is_nan", (ins Tensor:$x), "Float", "compare(e, kind, Order::NotEqual, in[0], in[0])"> {
  let onnx = [Onnx<"IsNaN">];
}
def Graph_IsInfOp : Predicate<"is_inf", (ins Tensor:$x, DefaultValuedAttr<I64Attr, "1">:$detect_negative,
                                             DefaultValuedAttr<I64Attr, "1">:$detect_positive), "Float",
    "isInfinite(e, getDetectNegative() != 0, getDetectPositive() != 0, in[0])"> { let onnx = [Onnx<"IsInf">]; }
def Graph_WhereOp : Elementwise<"where", (ins Tensor:$condition, Tensor:$a, Tensor:$b),
    "arith::SelectOp::create(e, in[0], in[1], in[2])", "verifySelect(*this)", "operandType(1)"> {
  let onnx = [Onnx<"Where">];
}

//===------------------------------------------------------------------------------------------===//
// Logic and bits
//===------------------------------------------------------------------------------------------===//

def Graph_AndOp : Binary<"and", "Bool", "arith::AndIOp::create(e, in[0], in[1])"> {
  let onnx = [OldBroadcast<"And">, Onnx<"And", 7>];
}
def Graph_OrOp : Binary<"or", "Bool", "arith::OrIOp::create(e, in[0], in[1])"> {
  let onnx = [OldBroadcast<"Or">, Onnx<"Or", 7>];
}
def Graph_XorOp : Binary<"xor", "Bool", "arith::XOrIOp::create(e, in[0], in[1])"> {
  let onnx = [OldBroadcast<"Xor">, Onnx<"Xor", 7>];
}
def Graph_NotOp : Unary<"not", "Bool", "flipBits(e, in[0])"> { let onnx = [Onnx<"Not">]; }
def Graph_BitwiseAndOp : Binary<"bitwise_and", "Integer", "arith::AndIOp::create(e, in[0], in[1])"> {
  let onnx = [Onnx<"BitwiseAnd">];
}
def Graph_BitwiseOrOp : Binary<"bitwise_or", "Integer", "arith::OrIOp::create(e, in[0], in[1])"> {
  let onnx = [Onnx<"BitwiseOr">];
}
def Graph_BitwiseXorOp : Binary<"bitwise_xor", "Integer", "arith::XOrIOp::create(e, in[0], in[1])"> {
  let onnx = [Onnx<"BitwiseXor">];
}
def Graph_BitwiseNotOp : Unary<"bitwise_not", "Integer", "flipBits(e, in[0])"> { let onnx = [Onnx<"BitwiseNot">]; }
def Graph_BitShiftOp : Elementwise<"bit_shift", (ins Tensor:$x, Tensor:$amount, StrAttr:$direction),
    "shift(e, kind, getDirection() == \"LEFT\", in[0], in[1])", "verifyShift(*this, getDirection())"> {
  let summary = "Shifts LEFT or RIGHT by `amount` bits; shifts by the width or more give 0 or the sign";
  let onnx = [Onnx<"BitShift">];
}

//===------------------------------------------------------------------------------------------===//
// Conversion
//===------------------------------------------------------------------------------------------===//

def Graph_CastOp : Elementwise<"cast", (ins Tensor:$x, TypeAttr:$to, DefaultValuedAttr<BoolAttr, "true">:$saturate,
                                          DefaultValuedAttr<StrAttr, "\"up\"">:$roundMode),
    "cast(e, operandType(0), getTo(), in[0], getSaturate(), getRoundMode())",
    "verifySameElementType(*this, Accepts::Any)",
    "getTo()", [Discontinuous]> {
  let summary = "Converts the element type, as ONNX's Cast";
  let description = [{
    Float types below 32 bits are computed in f32, and a cast to such a type rounds to it. For
    float8 types, `saturate` converts values out of range to the largest finite value; otherwise
    they become NaN or infinity. `roundMode` (up, down, nearest) applies to f8E8M0FNU, whose values
    are powers of two.

    ```mlir
    %y = graph.cast %x {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
    ```
  }];
  let onnx = [Onnx<"Cast", 1, 0, "buildCast">, Onnx<"CastLike", 1, 0, "buildCastLike">];
}
def Graph_BitCastOp : Elementwise<"bit_cast", (ins Tensor:$x, TypeAttr:$to),
                                  "bitCast(e, operandType(0), getTo(), in[0])",
    "verifyBitCast(*this, getTo())", "getTo()", [Discontinuous]> {
  let summary = "Reinterprets the bits as another element type of the same width";
  let onnx = [Onnx<"BitCast">];
}

def Graph_TermOp : Elementwise<"term", (ins Tensor:$x, I64Attr:$index, I64Attr:$count),
    "term(e, in[0], getIndex(), getCount())", "verifyTerm(*this, getIndex(), getCount())",
    "::mlir::BFloat16Type::get(getContext())"> {
  let summary = "Component `index` of the split of float32 x into `count` (2 or 3) bfloat16 numbers that sum to x";
  let description = [{
    Component 0 is the largest one. If the magnitude of x is at least 2^-102, the sum of three
    components is exactly x.

    If x is infinite or NaN, the last component is x, and component 0 is 1 with the sign of x. A
    contraction multiplies the last component only by component 0 of the other operand, so an
    infinity is never multiplied by a 0 that results from a split. For the largest magnitudes,
    component 0 is limited to the largest bfloat16, so that it does not overflow.
  }];
}

def Graph_RelayoutOp : Unary<"relayout", "Any", "in[0]"> {
  let summary = "Copies x to the memory layout of the result type";
}

def : OnnxCompose<"Identity", "buildIdentity">;
def : OnnxCompose<"Dropout", "buildDropout", 1, 0, "",
                  ["in training mode without a seed the choice is by hewn's own generator"]>;

#endif
