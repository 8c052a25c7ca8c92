// SPDX-License-Identifier: Apache-2.0
//
// Normalizations: they stay whole until an engine that has a form of its own has passed them by, then compose to reductions
// and elementwise ops. Narrow floats are normalized in f32.
#ifndef HEWN_GRAPH_NORMALIZE
#define HEWN_GRAPH_NORMALIZE

include "dialects/Graph/GraphKinds.td"

// `verifier` verifies; the result has the dims and the element type of x.
class Normalize<string mnemonic, dag args, string verifier> : GraphTensorOp<mnemonic, [DeclareOpInterfaceMethods<ComposeOpInterface>]> {
  let arguments = args;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::inferShapes(::hewn::graph::DimsOf dimsOf, ::llvm::SmallVectorImpl<::hewn::graph::TensorShape> &results) {
      if (::mlir::failed(}] # verifier # [{))
        return ::mlir::failure();
      results.push_back({dimsOf(getX()), ::hewn::graph::getElementType(getX())});
      return ::mlir::success();
    }
  }];
}
def Epsilon : DefaultValuedAttr<F32Attr, "1e-5f">;

def Graph_SoftmaxOp : Normalize<"softmax", (ins Tensor:$x, I64Attr:$axis), "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "e^x / sum of e^x along `axis`, with the largest element taken out first.";
  let onnx = [Onnx<"Softmax", 1, 0, "buildSoftmax">];
}
def Graph_LogSoftmaxOp : Normalize<"log_softmax", (ins Tensor:$x, I64Attr:$axis), "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "log(softmax(x)), where small probabilities keep their digits.";
  let onnx = [Onnx<"LogSoftmax", 1, 0, "buildSoftmax">];
}
def Graph_LayerNormOp : Normalize<"layer_norm", (ins Tensor:$x, Tensor:$scale, Optional<Tensor>:$bias, I64Attr:$axis, Epsilon:$epsilon),
    "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, mean and variance over the dims from `axis`.";
  let onnx = [Onnx<"LayerNormalization", 1, 0, "buildLayerNorm">,
              Onnx<"SkipLayerNormalization", 1, 0, "buildSkipLayerNorm", "com.microsoft">];
}
def Graph_RMSNormOp : Normalize<"rms_norm", (ins Tensor:$x, Tensor:$scale, I64Attr:$axis, Epsilon:$epsilon),
    "::hewn::graph::verifyAxis(*this, getAxis())"> {
  let summary = "x / sqrt(mean of squares + epsilon) * scale, the mean over the dims from `axis`.";
  let onnx = [Onnx<"RMSNormalization", 23, 0, "buildRMSNorm">, Onnx<"SimplifiedLayerNormalization", 1, 0, "buildRMSNorm">,
              Onnx<"SimplifiedLayerNormalization", 1, 0, "buildRMSNorm", "com.microsoft">,
              Onnx<"SkipSimplifiedLayerNormalization", 1, 0, "buildSkipLayerNorm", "com.microsoft">];
}
def Graph_BatchNormOp : Normalize<"batch_norm", (ins Tensor:$x, Tensor:$scale, Tensor:$bias, Tensor:$mean, Tensor:$variance, Epsilon:$epsilon),
    "::hewn::graph::verifyChannels(*this)"> {
  let summary = "(x - mean) / sqrt(variance + epsilon) * scale + bias, one of each a channel (dim 1).";
  let description = "It composes to x * factor + shift, where factor and shift are constants if the statistics are.";
  let onnx = [Onnx<"BatchNormalization", 1, 0, "buildBatchNorm">];
}
def Graph_GroupNormOp : Normalize<"group_norm", (ins Tensor:$x, Tensor:$scale, Tensor:$bias, I64Attr:$groups, Epsilon:$epsilon),
    "::hewn::graph::verifyGroups(*this, getGroups())"> {
  let summary = "Normalizes each of `groups` groups of channels of each sample; scale and bias are one a channel. 0: a group a channel.";
  let onnx = [Onnx<"GroupNormalization", 18, 0, "buildGroupNorm">, Onnx<"InstanceNormalization", 1, 0, "buildInstanceNorm">];
}
def Graph_LRNOp : Normalize<"lrn", (ins Tensor:$x, I64Attr:$size, DefaultValuedAttr<F32Attr, "1e-4f">:$alpha,
                                        DefaultValuedAttr<F32Attr, "0.75f">:$beta, DefaultValuedAttr<F32Attr, "1.0f">:$bias),
    "::hewn::graph::verifyLRN(*this, getSize())"> {
  let summary = "x / (bias + alpha/size * sum of x^2 over `size` channels around)^beta.";
  let onnx = [Onnx<"LRN">];
}

def : OnnxCompose<"EmbedLayerNormalization", "buildEmbedLayerNorm", 1, 0, "com.microsoft">;
def : OnnxCompose<"Hardmax", "buildHardmax">;
def : OnnxCompose<"LpNormalization", "buildLpNormalization">;
def : OnnxCompose<"MeanVarianceNormalization", "buildMeanVarianceNormalization">;

#endif
