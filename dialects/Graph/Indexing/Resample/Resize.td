// SPDX-License-Identifier: Apache-2.0
//
// The op that resizes a tensor along one dim.
#ifndef HEWN_GRAPH_INDEXING_RESIZE
#define HEWN_GRAPH_INDEXING_RESIZE

include "dialects/Graph/GraphKinds.td"


def Graph_ResizeOp : Move<"resize", ["getShardingRule", "getHaloRule", "getCopiesEqualDims"]> {
  let summary = "Resamples x along `dim` to `size[0]` elements";
  let description = [{
    Resizes one dim. An image is resized by one op for each dim, because interpolation is separable.
    A result index is mapped to a position in x by the rule `coordinates` (ONNX's
    coordinate_transformation_mode).

    | attribute | meaning |
    | --- | --- |
    | `mode` | nearest, linear or cubic |
    | `nearest` | rounding of the position for mode nearest |
    | `antialias` | extends the filter if the scale is below 1 |
    | `scale` | result size / operand size; 0: from the sizes; negative: in `given` |
    | `given` | scale, `roiStart` and `roiEnd` if known at run time only |

    Modes linear and cubic weight the elements around the position and require floats. An op with
    antialiasing weights a constant number of elements, at most 16. Other resizes with antialiasing
    are decomposed on import.
  }];
  let arguments = (ins Tensor:$x, Optional<Tensor>:$given, I64Attr:$dim, ArrayAttr:$size, F64Attr:$scale, StrAttr:$mode,
                       StrAttr:$coordinates,
                       DefaultValuedAttr<StrAttr, "\"round_prefer_floor\"">:$nearest,
                       DefaultValuedAttr<F64Attr, "-0.75">:$cubic,
                       DefaultValuedAttr<BoolAttr, "false">:$excludeOutside,
                       DefaultValuedAttr<BoolAttr, "false">:$antialias,
                       DefaultValuedAttr<F64Attr, "0.0">:$roiStart, DefaultValuedAttr<F64Attr, "1.0">:$roiEnd,
                       DefaultValuedAttr<F64Attr, "0.0">:$extrapolation);
}
def : OnnxCompose<"Resize", "buildResize", 10>;
def : OnnxCompose<"Upsample", "buildResize">;

#endif
