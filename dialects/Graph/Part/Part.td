// SPDX-License-Identifier: Apache-2.0
//
// Ops that call a part of the runtime (runtime/parts): what loops over tensors say badly. A part's result of unknown extent has a
// symbol for it that the part writes: Part/Select.td.
#ifndef HEWN_GRAPH_PART
#define HEWN_GRAPH_PART

include "dialects/Graph/GraphKinds.td"

def Graph_TopKOp : Part<"top_k", "topk", "{int64_t(getAxis()), getLargest(), getSorted()}"> {
  let summary = "The `k[0]` largest (or smallest) elements along `axis`, in order, and where they are; of equal ones the first.";
  let arguments = (ins Tensor:$x, ArrayAttr:$k, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$largest,
                       DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs Tensor:$values, Tensor:$indices);
  let onnx = [Onnx<"TopK", 1, 0, "buildTopK">];
}

def Graph_DetOp : Part<"det", "det", "{}"> {
  let summary = "The determinant of each matrix in the last two dims.";
  let arguments = (ins Tensor:$x);
  let onnx = [Onnx<"Det", 11>];
}

#endif
