// SPDX-License-Identifier: Apache-2.0
//
// Resampling: images at another size, or at positions that a tensor tells.
#ifndef HEWN_GRAPH_MOVE_RESIZE
#define HEWN_GRAPH_MOVE_RESIZE

include "dialects/Graph/GraphKinds.td"


def Graph_ResizeOp : Move<"resize", ["getCutForm", "getBandForm"]> {
  let summary = "Resamples x along `dim` to `size[0]` elements.";
  let description = [{
    Interpolation is separable, so an image is resized by one op a dim. `scale` 0 stands for size / extent. What is known only when
    the model runs is in `given`, three floats: the scale (where `scale` is below 0), `roiStart` and `roiEnd`. A result index is
    carried to a position in x as `coordinates` says (ONNX's coordinate_transformation_mode); `mode` nearest takes the element
    that `nearest` rounds to, linear and cubic weigh the elements around it, over a wider range where `antialias` and the
    scale is below 1. Floats only, but for nearest.
  }];
  let arguments = (ins Tensor:$x, Optional<Tensor>:$given, I64Attr:$dim, ArrayAttr:$size, F64Attr:$scale, StrAttr:$mode, StrAttr:$coordinates,
                       DefaultValuedAttr<StrAttr, "\"round_prefer_floor\"">:$nearest, DefaultValuedAttr<F64Attr, "-0.75">:$cubic,
                       DefaultValuedAttr<BoolAttr, "false">:$excludeOutside, DefaultValuedAttr<BoolAttr, "false">:$antialias,
                       DefaultValuedAttr<F64Attr, "0.0">:$roiStart, DefaultValuedAttr<F64Attr, "1.0">:$roiEnd,
                       DefaultValuedAttr<F64Attr, "0.0">:$extrapolation);
}
def : OnnxCompose<"Resize", "buildResize", 10>;
def : OnnxCompose<"Upsample", "buildResize">;

#endif
