// SPDX-License-Identifier: Apache-2.0
//
// Ops that interpolate between elements at positions given by a tensor, and the scattering of
// windows (col2im).
#ifndef HEWN_GRAPH_INDEXING_SAMPLE
#define HEWN_GRAPH_INDEXING_SAMPLE

include "dialects/Graph/GraphKinds.td"

def Graph_GridSampleOp : Move<"grid_sample", ["getShardingRule"], [Requires, Discontinuous]> {
  let summary = "result[n, c, o..] = x[n, c] interpolated at position grid[n, o.., :]";
  let description = [{
    The positions in `grid` are from -1 (one edge of x) to 1 (the other edge) along each dim. The
    coordinate of the last dim of x comes first.
  }];
  let arguments = (ins Tensor:$x, Tensor:$grid, StrAttr:$mode, StrAttr:$padding, BoolAttr:$alignCorners);
  let onnx = [Onnx<"GridSample", 16, 0, "buildGridSample">];
}

def Graph_DeformColumnsOp : Move<"deform_columns", [], [Requires, Discontinuous]> {
  let summary = "The windows that DeformConv multiplies by its weights";
  let description = [{
    result[n, c, i, j, p, q] is x[n, c] at element (i, j) of window (p, q), displaced by `offset`,
    with bilinear interpolation and zero outside. x is [N, C, H, W], offset [N, G*kh*kw*2, oh, ow]
    and mask [N, G*kh*kw, oh, ow]. The C channels are divided into G groups with separate offsets.
  }];
  let arguments = (ins Tensor:$x, Tensor:$offset, Optional<Tensor>:$mask, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, ArrayAttr:$low, I64Attr:$offsetGroups);
}
def : OnnxCompose<"DeformConv", "buildDeformConv", 19>;

def Graph_UnwindowOp : Move<"unwindow"> {
  let summary = "Inverse of graph.window: result[l.., y.., k..] is element k of the window that contains y, or zero";
  let description = [{
    Maps x [l.., o1..on, k1..kn] to [l.., sizes.., k1..kn], where y = o*strides + k*dilations - low.
    Reducing the result over k by a sum gives col2im.
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low,
                       ArrayAttr:$sizes);
}
def : OnnxCompose<"Col2Im", "buildCol2Im", 18>;

def : OnnxCompose<"AffineGrid", "buildAffineGrid", 20>;

#endif
