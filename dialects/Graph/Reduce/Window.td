// SPDX-License-Identifier: Apache-2.0
//
// Pooling: reductions of graph.window (Move.td), which is never stored.
#ifndef HEWN_GRAPH_WINDOW
#define HEWN_GRAPH_WINDOW

include "dialects/Graph/GraphKinds.td"


def Graph_WindowPositionOp : Move<"window_position"> {
  let summary = "The flat index in the pooled tensor of element `x[.., o]` of window o: MaxPool's second output.";
  let description = [{
    x [N, C, o1..on] (i64) counts row-major within its window; the result is row-major in a tensor [N, C, extents..], or with
    the spatial dims in reversed order where `columnMajor`.
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       ArrayAttr:$low, ArrayAttr:$extents, BoolAttr:$columnMajor);
}

def : OnnxCompose<"MaxPool", "buildMaxPool">;
def : OnnxCompose<"AveragePool", "buildAveragePool">;
def : OnnxCompose<"LpPool", "buildLpPool">;
def : OnnxCompose<"MaxUnpool", "buildMaxUnpool", 9>;

#endif
