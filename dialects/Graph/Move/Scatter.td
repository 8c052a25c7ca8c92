// SPDX-License-Identifier: Apache-2.0
//
// Updates put at positions that tensors tell, and boxes of feature maps: what a result element is made of is not known from
// its index, so most of these are parts of the runtime.
#ifndef HEWN_GRAPH_MOVE_SCATTER
#define HEWN_GRAPH_MOVE_SCATTER

include "dialects/Graph/GraphKinds.td"

def Graph_ScatterElementsOp : Part<"scatter_elements", "scatterelements", "{int64_t(getAxis()), scatterReduction(getReduction())}"> {
  let summary = "x with updates[i..] at i.., the index along `axis` replaced by indices[i..].";
  let arguments = (ins Tensor:$x, Tensor:$indices, Tensor:$updates, I64Attr:$axis, DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let onnx = [Onnx<"ScatterElements", 11, 0, "buildScatterElements">, Onnx<"Scatter", 9, 0, "buildScatterElements">];
}

def Graph_ScatterNDOp : Part<"scatter_nd", "scatternd", "{scatterReduction(getReduction())}"> {
  let summary = "x with the slice updates[i..] at position indices[i.., :].";
  let arguments = (ins Tensor:$x, Tensor:$indices, Tensor:$updates, DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let onnx = [Onnx<"ScatterND", 11, 0, "buildScatterND">];
}

def Graph_TensorScatterOp : Move<"tensor_scatter", ["getCutForm"], [Requires]> {
  let summary = "The cache x with `update` written along `axis` from starts[b] on; around its end where `circular`.";
  let arguments = (ins Tensor:$x, Tensor:$update, Tensor:$starts, I64Attr:$axis, BoolAttr:$circular);
  let onnx = [Onnx<"TensorScatter", 24, 0, "buildTensorScatter">];
}


def Graph_RoiAlignOp : Part<"roi_align", "roialign",
    "{getHalfPixel(), getTakesMax(), int64_t(getSamplingRatio()), floatBits(getSpatialScale())}"> {
  let summary = "Boxes of a feature map sampled bilinearly to `size`.";
  let arguments = (ins Tensor:$x, Tensor:$rois, Tensor:$batches, DenseI64ArrayAttr:$size, BoolAttr:$halfPixel, BoolAttr:$takesMax,
                       I64Attr:$samplingRatio, F32Attr:$spatialScale);
  let onnx = [Onnx<"RoiAlign", 10, 0, "buildRoiAlign">];
}

def Graph_MaxRoiPoolOp : Part<"max_roi_pool", "maxroipool", "{floatBits(getSpatialScale())}"> {
  let summary = "Maxima of the `size` cells of boxes of a feature map.";
  let arguments = (ins Tensor:$x, Tensor:$rois, DenseI64ArrayAttr:$size, F32Attr:$spatialScale);
  let onnx = [Onnx<"MaxRoiPool", 1, 0, "buildMaxRoiPool">];
}

#endif
