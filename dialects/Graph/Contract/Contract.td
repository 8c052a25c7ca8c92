// SPDX-License-Identifier: Apache-2.0
//
// Contractions: ops that multiply elements of two operands and add up over reduction dims.
#ifndef HEWN_GRAPH_CONTRACT
#define HEWN_GRAPH_CONTRACT

include "dialects/Graph/GraphKinds.td"


def Graph_MatMulOp : Contract<"matmul"> {
  let summary = "Matrix product: result[.., m, n] = sum over k of a[.., m, k] * b[.., k, n]";
  let description = [{
    The leading dims of `a` and `b` broadcast. The operands `terms` are further split-bf16
    components of `a` and `b`, alternating (see ContractOpInterface). `to` is the element type of
    the accumulators and the result, if it is not that of the operands.

    ```mlir
    %y = graph.matmul %a, %b : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    ```
  }];
  let arguments = (ins Tensor:$a, Tensor:$b, Variadic<Tensor>:$terms, OptionalAttr<TypeAttr>:$to);
  let onnx = [Onnx<"MatMul", 1, 0, "buildMatMul">, Onnx<"Gemm", 1, 0, "buildGemm">];
}

def Graph_ConvOp : Contract<"conv", [Requires]> {
  let summary = "Convolution without padding";
  let description = [{
    result[n, g*M + m, o..] = sum of x[n, g*C + c, o*strides + k*dilations] * w[g*M + m, c, k..],
    with M output and C input channels in each of the `groups` groups. Padding is a separate
    `graph.pad` on `x`. Results and weights have the layouts NCHW and OIHW, for any number of
    spatial dims. For `terms` and `to`, see `graph.matmul`.
  }];
  let arguments = (ins Tensor:$x, Tensor:$w, Variadic<Tensor>:$terms, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, I64Attr:$groups, OptionalAttr<TypeAttr>:$to);
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
