// SPDX-License-Identifier: Apache-2.0
//
// Ops that call a function of the runtime (runtime/ops), for computations that cannot be expressed
// well as loops over tensors. RuntimeCall/Select.td has those whose result dims depend on data.
#ifndef HEWN_GRAPH_PART
#define HEWN_GRAPH_PART

include "dialects/Graph/GraphKinds.td"

def Graph_TopKOp : Part<"top_k", "topk", "{int64_t(getAxis()), getLargest(), getSorted()}"> {
  let summary = "The `k[0]` largest (or smallest) elements along `axis`, in order, and their indices; ties by index";
  let arguments = (ins Tensor:$x, ArrayAttr:$k, I64Attr:$axis, DefaultValuedAttr<BoolAttr, "true">:$largest,
                       DefaultValuedAttr<BoolAttr, "true">:$sorted);
  let results = (outs Tensor:$values, Tensor:$indices);
  let onnx = [Onnx<"TopK", 1, 0, "buildTopK">];
}

def Graph_DetOp : Part<"det", "det", "{}"> {
  let summary = "The determinant of each matrix in the last two dims";
  let arguments = (ins Tensor:$x);
  let onnx = [Onnx<"Det", 11>];
}

def Graph_FourierOp : Part<"fourier", "dft", "{int64_t(getAxis()), getInverse(), getOnesided()}"> {
  let summary = "Discrete Fourier transforms of `length[0]` elements along `axis`";
  let description = [{
    The last dim of x, of size 1 or 2, has the real and the imaginary parts. x is cropped to the
    length, or padded with zeros. `n` is the length as a tensor. With `onesided`, the result has the
    frequencies up to the length's half; the operand of an inverse transform has them, and its
    result is real. An inverse transform divides by the length.
  }];
  let arguments = (ins Tensor:$x, Tensor:$n, ArrayAttr:$length, I64Attr:$axis,
                       DefaultValuedAttr<BoolAttr, "false">:$inverse, DefaultValuedAttr<BoolAttr, "false">:$onesided);
}

#endif
