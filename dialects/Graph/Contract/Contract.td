// SPDX-License-Identifier: Apache-2.0
//
// Contractions: sums of products over an iteration space.
#ifndef HEWN_GRAPH_CONTRACT
#define HEWN_GRAPH_CONTRACT

include "dialects/Graph/GraphKinds.td"


def Graph_MatMulOp : Contract<"matmul"> {
  let summary = "result[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]; leading dims broadcast.";
  let arguments = (ins Tensor:$a, Tensor:$b, Variadic<Tensor>:$terms, OptionalAttr<TypeAttr>:$to);
  let onnx = [Onnx<"MatMul", 1, 0, "buildMatMul">, Onnx<"Gemm", 1, 0, "buildGemm">];
}

def Graph_ConvOp : Contract<"conv", [Requires]> {
  let summary = "Convolution without padding: result[n, g*M + m, o..] = sum of x[n, g*C + c, o*strides + k*dilations] * w[g*M + m, c, k..].";
  let arguments = (ins Tensor:$x, Tensor:$w, Variadic<Tensor>:$terms, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
                       OptionalAttr<TypeAttr>:$to);
  let onnx = [Onnx<"Conv", 1, 0, "buildConv">];
}

def : OnnxCompose<"ConvTranspose", "buildConvTranspose">;
def : OnnxCompose<"FusedMatMul", "buildFusedMatMul", 1, 0, "com.microsoft">;
def : OnnxCompose<"TransposeMatMul", "buildFusedMatMul", 1, 0, "com.microsoft">;
def : OnnxCompose<"FusedGemm", "buildFusedGemm", 1, 0, "com.microsoft">;
def : OnnxCompose<"FusedConv", "buildFusedConv", 1, 0, "com.microsoft">;
def : OnnxCompose<"Einsum", "buildEinsum", 12>;
def : OnnxCompose<"DFT", "buildDFT", 17>;
def : OnnxCompose<"STFT", "buildSTFT", 17>;

#endif
