// SPDX-License-Identifier: Apache-2.0
//
// Scatters and ROI pooling. Most of these ops are runtime calls, because the index of a result
// element does not determine which operand elements it depends on.
#ifndef HEWN_GRAPH_INDEXING_SCATTER
#define HEWN_GRAPH_INDEXING_SCATTER

include "dialects/Graph/GraphKinds.td"

def Graph_ScatterElementsOp : Part<"scatter_elements", "scatterelements",
                                   "{int64_t(getAxis()), scatterReduction(getReduction())}"> {
  let summary = "Copy of x with updates[i..] written at index i.., but with the index indices[i..] along `axis`";
  let arguments = (ins Tensor:$x, Tensor:$indices, Tensor:$updates, I64Attr:$axis,
                       DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let onnx = [Onnx<"ScatterElements", 11, 0, "buildScatterElements">, Onnx<"Scatter", 9, 0, "buildScatterElements">];
}

def Graph_ScatterNDOp : Part<"scatter_nd", "scatternd", "{scatterReduction(getReduction())}"> {
  let summary = "Copy of x with the slices updates[i..] written at index indices[i.., :]";
  let arguments = (ins Tensor:$x, Tensor:$indices, Tensor:$updates, DefaultValuedAttr<StrAttr, "\"none\"">:$reduction);
  let onnx = [Onnx<"ScatterND", 11, 0, "buildScatterND">];
}

def Graph_TensorScatterOp : Move<"tensor_scatter", ["getShardingRule"], [Requires]> {
  let summary = "Copy of the cache x with `update` written along `axis` from starts[b] on; wraps around if `circular`";
  let arguments = (ins Tensor:$x, Tensor:$update, Tensor:$starts, I64Attr:$axis, BoolAttr:$circular);
  let onnx = [Onnx<"TensorScatter", 24, 0, "buildTensorScatter">];
}


def Graph_RoiAlignOp : Part<"roi_align", "roialign",
    "{getHalfPixel(), getTakesMax(), int64_t(getSamplingRatio()), floatBits(getSpatialScale())}"> {
  let summary = "Samples each box (region) of the feature map x bilinearly at `size` points";
  let arguments = (ins Tensor:$x, Tensor:$rois, Tensor:$batches, DenseI64ArrayAttr:$size, BoolAttr:$halfPixel,
                       BoolAttr:$takesMax,
                       I64Attr:$samplingRatio, F32Attr:$spatialScale);
  let onnx = [Onnx<"RoiAlign", 10, 0, "buildRoiAlign">];
}

def Graph_MaxRoiPoolOp : Part<"max_roi_pool", "maxroipool", "{floatBits(getSpatialScale())}"> {
  let summary = "Divides each box (region) of the feature map x into `size` cells and returns the maximum of each cell";
  let arguments = (ins Tensor:$x, Tensor:$rois, DenseI64ArrayAttr:$size, F32Attr:$spatialScale);
  let onnx = [Onnx<"MaxRoiPool", 1, 0, "buildMaxRoiPool">];
}

#endif
