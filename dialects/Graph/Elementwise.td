// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops: one row each. The last string is the body, C++ on scalars or vectors (`in`) by the functions of
// ElementwiseBodies.h; `e` builds, `kind` is the number kind of the first operand's elements, `type` the result's element type.
#ifndef HEWN_GRAPH_ELEMENTWISE
#define HEWN_GRAPH_ELEMENTWISE

include "dialects/Graph/GraphKinds.td"


//===--------------------------------------------------------------------------------------------------------------------===//
// Arithmetic
//===--------------------------------------------------------------------------------------------------------------------===//

def Graph_AddOp : Binary<"add", "add(e, kind, in[0], in[1])"> { let onnx = [Onnx<"Add", 7>]; }
def Graph_SubOp : Binary<"sub", "sub(e, kind, in[0], in[1])"> { let onnx = [Onnx<"Sub", 7>]; }
def Graph_MulOp : Binary<"mul", "mul(e, kind, in[0], in[1])"> { let onnx = [Onnx<"Mul", 7>]; }
def Graph_DivOp : Binary<"div", "div(e, kind, in[0], in[1])"> { let onnx = [Onnx<"Div", 7>]; }
def Graph_NegOp : Unary<"neg", "neg(e, kind, in[0])"> { let onnx = [Onnx<"Neg", 6>]; }
def Graph_AbsOp : Unary<"abs", "abs(e, kind, in[0])"> { let onnx = [Onnx<"Abs", 6>]; }
def Graph_MinimumOp : Binary<"minimum", "minimum(e, kind, in[0], in[1])">;
def Graph_MaximumOp : Binary<"maximum", "maximum(e, kind, in[0], in[1])">;
def Graph_SqrtOp : Unary<"sqrt", "math::SqrtOp::create(e, in[0])"> { let onnx = [Onnx<"Sqrt", 6>]; }
def Graph_PowOp : Binary<"pow", "pow(e, operandType(0), operandType(1), in[0], in[1])"> { let onnx = [Onnx<"Pow", 7>]; }

//===--------------------------------------------------------------------------------------------------------------------===//
// Functions and activations
//===--------------------------------------------------------------------------------------------------------------------===//

def Graph_ExpOp : Unary<"exp", "math::ExpOp::create(e, in[0])"> { let onnx = [Onnx<"Exp", 6>]; }
def Graph_LogOp : Unary<"log", "math::LogOp::create(e, in[0])"> { let onnx = [Onnx<"Log", 6>]; }
def Graph_TanhOp : Unary<"tanh", "math::TanhOp::create(e, in[0])"> { let onnx = [Onnx<"Tanh", 6>]; }
def Graph_ErfOp : Unary<"erf", "math::ErfOp::create(e, in[0])"> { let onnx = [Onnx<"Erf", 9>]; }
def Graph_SigmoidOp : Unary<"sigmoid", "sigmoid(e, in[0])"> { let onnx = [Onnx<"Sigmoid", 6>]; }
def Graph_ReluOp : Unary<"relu", "maximum(e, kind, in[0], constant(e, in[0], 0.0))"> { let onnx = [Onnx<"Relu", 6>]; }
def Graph_LeakyReluOp : Elementwise<"leaky_relu", (ins Tensor:$x, DefaultValuedAttr<F32Attr, "0.01f">:$alpha),
    "leakyRelu(e, in[0], getAlpha().convertToDouble())"> { let onnx = [Onnx<"LeakyRelu", 6>]; }

//===--------------------------------------------------------------------------------------------------------------------===//
// Comparison, choice, conversion
//===--------------------------------------------------------------------------------------------------------------------===//

def Graph_EqualOp : Compare<"equal", "compare(e, kind, Order::Equal, in[0], in[1])"> { let onnx = [Onnx<"Equal", 7>]; }
def Graph_LessOp : Compare<"less", "compare(e, kind, Order::Less, in[0], in[1])"> { let onnx = [Onnx<"Less", 7>]; }
def Graph_WhereOp : Elementwise<"where", (ins Tensor:$condition, Tensor:$a, Tensor:$b),
    "arith::SelectOp::create(e, in[0], in[1], in[2])", "operandType(1)"> { let onnx = [Onnx<"Where", 9>]; }
def Graph_CastOp : Elementwise<"cast", (ins Tensor:$x, TypeAttr:$to), "cast(e, operandType(0), getTo(), in[0])", "getTo()"> {
  let summary = "Converts the element type as ONNX's Cast does; narrow floats are rounded where they are computed in f32.";
  let onnx = [Onnx<"Cast", 6, 0, "buildCast">];
}

def Graph_RelayoutOp : Unary<"relayout", "in[0]"> {
  let summary = "The same elements in another order in memory: the result type's layout. What a change of layout costs.";
}

#endif
