// SPDX-License-Identifier: Apache-2.0
//
// Pooling: reductions of graph.window (Indexing.td), whose result is never stored in memory.
#ifndef HEWN_GRAPH_WINDOW
#define HEWN_GRAPH_WINDOW

include "dialects/Graph/GraphKinds.td"


def Graph_WindowPositionOp : Move<"window_position"> {
  let summary = "Converts indices within windows to flat indices in the pooled tensor: MaxPool's second output";
  let description = [{
    For each window o, x [N, C, o1..on] (i64) contains the row-major index of an element within the
    window. The result contains the row-major index of this element in a tensor [N, C, extents..].
    With `columnMajor`, the spatial dims of this tensor are in reverse order.
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       ArrayAttr:$low, ArrayAttr:$extents, BoolAttr:$columnMajor);
}

def : OnnxCompose<"MaxPool", "buildMaxPool">;
def : OnnxCompose<"AveragePool", "buildAveragePool">;
def : OnnxCompose<"LpPool", "buildLpPool">;
def : OnnxCompose<"MaxUnpool", "buildMaxUnpool", 9>;

#endif
