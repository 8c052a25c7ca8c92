// SPDX-License-Identifier: Apache-2.0
//
// Softmax and normalizations. These ops are kept until kernel generators with a special method for
// them have had the chance to lower them. The remaining ones are decomposed into reductions and
// elementwise ops. Float types below 32 bits are computed in f32.
#ifndef HEWN_GRAPH_NORMALIZE
#define HEWN_GRAPH_NORMALIZE

include "dialects/Graph/GraphKinds.td"

// A normalization op, whose result has the dims and the element type of x. `verifier` is a C++
// expression that verifies the op.
class Normalize<string mnemonic, dag args, string verifier>
    : GraphTensorOp<mnemonic, [DeclareOpInterfaceMethods<DecomposeOpInterface>]> {
  let arguments = args;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf,
                                                 ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      if (::mlir::failed(}] # verifier # [{))
        return ::mlir::failure();
      results.push_back({dimsOf(getX()), ::hewn::graph::getElementType(getX())});
      return ::mlir::success();
    }
  }];
}
def Epsilon : DefaultValuedAttr<F32Attr, "1e-5f">;

def Graph_SoftmaxOp : Normalize<"softmax", (ins Tensor:$x, I64Attr:$axis),
    "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "Softmax along `axis`: e^(x - max(x)) / sum of e^(x - max(x))";
  let description = [{
    ```mlir
    %y = graph.softmax %x {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let onnx = [Onnx<"Softmax", 1, 0, "buildSoftmax">];
}
def Graph_LogSoftmaxOp : Normalize<"log_softmax", (ins Tensor:$x, I64Attr:$axis),
    "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "log(softmax(x)) along `axis`, accurate for small probabilities";
  let onnx = [Onnx<"LogSoftmax", 1, 0, "buildSoftmax">];
}
def Graph_LayerNormOp : Normalize<"layer_norm", (ins Tensor:$x, Tensor:$scale, Optional<Tensor>:$bias, I64Attr:$axis,
                                                     Epsilon:$epsilon),
    "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, statistics over the dims from `axis` on";
  let onnx = [Onnx<"LayerNormalization", 1, 0, "buildLayerNorm">,
              Onnx<"SkipLayerNormalization", 1, 0, "buildSkipLayerNorm", "com.microsoft">];
}
def Graph_RMSNormOp : Normalize<"rms_norm", (ins Tensor:$x, Tensor:$scale, I64Attr:$axis, Epsilon:$epsilon),
    "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale, with the mean over the dims from `axis` on";
  let onnx = [Onnx<"RMSNormalization", 23, 0, "buildRMSNorm">,
              Onnx<"SimplifiedLayerNormalization", 1, 0, "buildRMSNorm">,
              Onnx<"SimplifiedLayerNormalization", 1, 0, "buildRMSNorm", "com.microsoft">,
              Onnx<"SkipSimplifiedLayerNormalization", 1, 0, "buildSkipLayerNorm", "com.microsoft">];
}
def Graph_BatchNormOp : Normalize<"batch_norm", (ins Tensor:$x, Tensor:$scale, Tensor:$bias, Tensor:$mean,
                                                     Tensor:$variance, Epsilon:$epsilon),
    "::hewn::graph::verifyChannels(*this)"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, with one value a channel (dim 1)";
  let description = "Decomposes to x * factor + shift, where factor and shift are constant if mean and variance are.";
  let onnx = [Onnx<"BatchNormalization", 1, 0, "buildBatchNorm">];
}
def Graph_GroupNormOp : Normalize<"group_norm", (ins Tensor:$x, Tensor:$scale, Tensor:$bias, I64Attr:$groups,
                                                     Epsilon:$epsilon),
    "::hewn::graph::verifyGroups(*this, getGroups())"> {
  let summary = "Normalizes each of `groups` channel groups of each sample; scale and bias are one value a channel";
  let description = "If `groups` is 0, every channel is a group (instance normalization).";
  let onnx = [Onnx<"GroupNormalization", 18, 0, "buildGroupNorm">,
              Onnx<"InstanceNormalization", 1, 0, "buildInstanceNorm">];
}
def Graph_LRNOp : Normalize<"lrn", (ins Tensor:$x, I64Attr:$size, DefaultValuedAttr<F32Attr, "1e-4f">:$alpha,
                                        DefaultValuedAttr<F32Attr, "0.75f">:$beta,
                                        DefaultValuedAttr<F32Attr, "1.0f">:$bias),
    "::hewn::graph::verifyLRN(*this, getSize())"> {
  let summary = "x / (bias + alpha/size * sum of x^2 over the `size` neighboring channels)^beta";
  let onnx = [Onnx<"LRN">];
}

def : OnnxCompose<"EmbedLayerNormalization", "buildEmbedLayerNorm", 1, 0, "com.microsoft">;
def : OnnxCompose<"Hardmax", "buildHardmax">;
def : OnnxCompose<"LpNormalization", "buildLpNormalization">;
def : OnnxCompose<"MeanVarianceNormalization", "buildMeanVarianceNormalization">;

#endif
