// SPDX-License-Identifier: Apache-2.0
//
// Elements at positions between elements that a tensor tells, and windows laid back over what they were taken from.
#ifndef HEWN_GRAPH_MOVE_SAMPLE
#define HEWN_GRAPH_MOVE_SAMPLE

include "dialects/Graph/GraphKinds.td"

def Graph_GridSampleOp : Move<"grid_sample", ["getCutForm"], [Requires, Discontinuous]> {
  let summary = "result[n, c, o..] = x[n, c] interpolated at position grid[n, o.., :], in -1..1 from edge to edge, last dim first.";
  let arguments = (ins Tensor:$x, Tensor:$grid, StrAttr:$mode, StrAttr:$padding, BoolAttr:$alignCorners);
  let onnx = [Onnx<"GridSample", 16, 0, "buildGridSample">];
}

def Graph_DeformColumnsOp : Move<"deform_columns", [], [Requires, Discontinuous]> {
  let summary = "What DeformConv multiplies by its weights: result[n, c, i, j, p, q] is x at window element (i, j) moved by `offset`.";
  let description = [{
    x [N, C, H, W], offset [N, G*kh*kw*2, oh, ow], mask [N, G*kh*kw, oh, ow]; the C channels are in G groups of offsets. Bilinear,
    zero outside.
  }];
  let arguments = (ins Tensor:$x, Tensor:$offset, Optional<Tensor>:$mask, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, ArrayAttr:$low, I64Attr:$offsetGroups);
}
def : OnnxCompose<"DeformConv", "buildDeformConv", 19>;

def Graph_UnwindowOp : Move<"unwindow"> {
  let summary = "graph.window backward: result[l.., y.., k..] is element k of the window that y would be in, zero where there is none.";
  let description = [{
    x [l.., o1..on, k1..kn] to [l.., sizes.., k1..kn]: y = o*strides + k*dilations - low. Its sum over k lays windows back.
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$low, ArrayAttr:$sizes);
}
def : OnnxCompose<"Col2Im", "buildCol2Im", 18>;

def : OnnxCompose<"AffineGrid", "buildAffineGrid", 20>;

#endif
