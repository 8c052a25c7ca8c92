// SPDX-License-Identifier: Apache-2.0
//
// Activation ops. Their formulas are valid for all inputs: no intermediate value overflows, and
// small results are accurate.
#ifndef HEWN_GRAPH_ACTIVATION
#define HEWN_GRAPH_ACTIVATION

include "dialects/Graph/GraphKinds.td"

class Activation<string mnemonic, dag parameters, string body, list<Trait> traits = []>
    : Elementwise<mnemonic, !con((ins Tensor:$x), parameters), body, "verifySameElementType(*this, Accepts::Float)",
                  "operandType(0)", traits>;
// An f32 attribute of an activation op. Its default is that of the ONNX attribute.
class Parameter<string value> : DefaultValuedAttr<F32Attr, value # "f">;

def Graph_ReluOp : Unary<"relu", "Number", "maximum(e, kind, in[0], constant(e, in[0], 0.0))"> {
  let onnx = [Onnx<"Relu">];
}
def Graph_LeakyReluOp : Activation<"leaky_relu", (ins Parameter<"0.01">:$alpha),
    "leakyRelu(e, in[0], getAlpha().convertToDouble())"> {
  let onnx = [Onnx<"LeakyRelu">];
}
def Graph_PReluOp : Binary<"prelu", "Number", "prelu(e, kind, in[0], in[1])"> {
  let onnx = [Onnx<"PRelu", 1, 6, "buildOldPRelu">, Onnx<"PRelu", 7>];
}
def Graph_ThresholdedReluOp : Activation<"thresholded_relu", (ins Parameter<"1.0">:$alpha),
    "thresholdedRelu(e, in[0], getAlpha().convertToDouble())", [Discontinuous]> {
  let onnx = [Onnx<"ThresholdedRelu">];
}
def Graph_EluOp : Activation<"elu", (ins Parameter<"1.0">:$alpha), "elu(e, in[0], getAlpha().convertToDouble(), 1.0)"> {
  let onnx = [Onnx<"Elu">];
}
def Graph_SeluOp : Activation<"selu", (ins Parameter<"1.67326319217681884765625">:$alpha,
                                           Parameter<"1.05070102214813232421875">:$gamma),
    "elu(e, in[0], getAlpha().convertToDouble(), getGamma().convertToDouble())"> {
  let onnx = [Onnx<"Selu", 1, 5, "buildOldSelu">, Onnx<"Selu", 6>];
}
def Graph_CeluOp : Activation<"celu", (ins Parameter<"1.0">:$alpha), "celu(e, in[0], getAlpha().convertToDouble())"> {
  let onnx = [Onnx<"Celu">];
}
def Graph_SigmoidOp : Activation<"sigmoid", (ins), "sigmoid(e, in[0])"> { let onnx = [Onnx<"Sigmoid">]; }
def Graph_HardSigmoidOp : Activation<"hard_sigmoid", (ins Parameter<"0.2">:$alpha, Parameter<"0.5">:$beta),
    "hardSigmoid(e, in[0], getAlpha().convertToDouble(), getBeta().convertToDouble())"> {
  let onnx = [Onnx<"HardSigmoid">];
}
def Graph_HardSwishOp : Activation<"hard_swish", (ins), "hardSwish(e, in[0])"> { let onnx = [Onnx<"HardSwish">]; }
def Graph_SwishOp : Activation<"swish", (ins Parameter<"1.0">:$alpha),
                               "swish(e, in[0], getAlpha().convertToDouble())"> {
  let onnx = [Onnx<"Swish">, Onnx<"QuickGelu", 1, 0, "buildQuickGelu", "com.microsoft">];
}
def Graph_MishOp : Activation<"mish", (ins), "mish(e, in[0])"> { let onnx = [Onnx<"Mish">]; }
def Graph_GeluOp : Elementwise<"gelu", (ins Tensor:$x, DefaultValuedAttr<StrAttr, "\"none\"">:$approximate),
    "gelu(e, in[0], getApproximate() == \"tanh\")", "verifyGelu(*this, getApproximate())"> {
  let summary = "x * Phi(x), Phi the normal CDF: exact by erf (`none`), or approximated by `tanh`";
  let onnx = [Onnx<"Gelu">, Onnx<"Gelu", 1, 0, "", "com.microsoft">,
              Onnx<"BiasGelu", 1, 0, "buildBiasGelu", "com.microsoft">,
              Onnx<"FastGelu", 1, 0, "buildBiasGelu", "com.microsoft">];
}
def Graph_SoftplusOp : Activation<"softplus", (ins), "softplus(e, in[0])"> { let onnx = [Onnx<"Softplus">]; }
def Graph_SoftsignOp : Activation<"softsign", (ins), "softsign(e, in[0])"> { let onnx = [Onnx<"Softsign">]; }
def Graph_ShrinkOp : Elementwise<"shrink", (ins Tensor:$x, Parameter<"0.0">:$bias, Parameter<"0.5">:$lambd),
    "shrink(e, operandType(0), in[0], getBias().convertToDouble(), getLambd().convertToDouble())",
    "verifySameElementType(*this, Accepts::Number)",
    "operandType(0)", [Discontinuous]> {
  let onnx = [Onnx<"Shrink">];
}

def : OnnxCompose<"SwiGLU", "buildSwiGlu">;

#endif
