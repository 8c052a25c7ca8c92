// SPDX-License-Identifier: Apache-2.0
//
// Indexing ops: each element of the result is an element of an operand, at a computed index. Sizes
// and offsets are attributes (constants or expressions over symbols), which the importer computes
// from ONNX's shape operands.
#ifndef HEWN_GRAPH_MOVE
#define HEWN_GRAPH_MOVE

include "dialects/Graph/GraphKinds.td"


// Other files of this folder with indexing ops: Index.td, Interleave.td, Scatter.td, Resample/*.td,
// ../Reduce/Window.td.
def Graph_TransposeOp : Move<"transpose", ["getViewKind", "getViewOrder", "getShardingRule", "getHaloRule"]> {
  let summary = "Transposes x: result dim i is operand dim order[i]";
  let description = [{
    ```mlir
    %y = graph.transpose %x {order = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    ```
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$order);
  let hasFolder = 1;
  let onnx = [Onnx<"Transpose", 1, 0, "buildTranspose">];
}

def Graph_ReshapeOp : Move<"reshape", ["getViewKind", "getShardingRule", "getHaloRule"]> {
  let summary = "Reshapes x; the elements keep their row-major order";
  let arguments = (ins Tensor:$x, ArrayAttr:$shape);
  let onnx = [Onnx<"Reshape", 5, 0, "buildReshape">, Onnx<"Flatten", 1, 0, "buildFlatten">,
              Onnx<"Squeeze", 1, 0, "buildSqueeze">,
              Onnx<"Unsqueeze", 1, 0, "buildUnsqueeze">];
}

def Graph_SliceOp : Move<"slice", ["getShardingRule", "getHaloRule"], [Requires]> {
  let summary = "result[i] = x[offsets + i * steps] for i < sizes; steps may be negative";
  let arguments = (ins Tensor:$x, ArrayAttr:$offsets, ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let onnx = [Onnx<"Slice", 1, 0, "buildSlice">, Onnx<"Split", 1, 0, "buildSplit">];
}

def Graph_ConcatOp : Move<"concat", ["getShardingRule", "getHaloRule"], [DeclareOpInterfaceMethods<ConcatOpInterface>]> {
  let summary = "Concatenates the operands along `axis`";
  let arguments = (ins Variadic<Tensor>:$inputs, I64Attr:$axis);
  let onnx = [Onnx<"Concat", 1, 0, "buildConcat">];
}

def Graph_ExpandOp : Move<"expand", ["getShardingRule", "getHaloRule", "getIsBroadcast"], [Requires]> {
  let summary = "Broadcasts x to `shape`, as ONNX's Expand";
  let arguments = (ins Tensor:$x, ArrayAttr:$shape);
  let onnx = [Onnx<"Expand", 8, 0, "buildExpand">];
}

def Graph_PadOp : Move<"pad", ["getShardingRule", "getHaloRule"], [DeclareOpInterfaceMethods<PaddingOpInterface>]> {
  let summary = "Pads (or, for negative counts, crops) the start and end of each dim of x by `low` and `high` elements";
  let description = "`mode`: constant (`value`, or zero if absent), reflect (by less than the dim), edge or wrap.";
  let arguments = (ins Tensor:$x, Optional<Tensor>:$value, ArrayAttr:$low, ArrayAttr:$high,
                       DefaultValuedAttr<StrAttr, "\"constant\"">:$mode);
  let onnx = [Onnx<"Pad", 1, 0, "buildPad">];
}

def Graph_GatherOp : Move<"gather", ["getShardingRule", "getLookedUpDim"]> {
  let summary = "result[a, i, b] = x[a, indices[i], b] along `axis`; negative indices count from the end";
  let arguments = (ins Tensor:$x, Tensor:$indices, I64Attr:$axis);
  let onnx = [Onnx<"Gather", 1, 0, "buildGather">];
}

def Graph_SpreadOp : Move<"spread", [], [DeclareOpInterfaceMethods<SplitKOpInterface>]> {
  let summary = "`parts` tensors along a new first dim that sum to x (split-K partials)";
  let description = [{
    The kernel generator may choose any tensors whose sum is x: x and zeros, or partial sums of the
    contraction that produces x.
  }];
  let arguments = (ins Tensor:$x, I64Attr:$parts);
}

def Graph_WindowOp : Move<"window", ["getShardingRule", "getHaloRule"]> {
  let summary = "Sliding windows over the trailing dims";
  let description = [{
    result[.., o, k] = x[.., o*strides + k*dilations - low], or `fill` outside of x. If x has the
    dims [l.., d1..dn], the result has the dims [l.., o1..on, k1..kn], where n is the length of
    `kernel`. Pooling is a reduction of this op. The reduction reads x directly, so the windows are
    never stored in memory.
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$low, ArrayAttr:$sizes, F64Attr:$fill);
}

def : OnnxCompose<"Shape", "buildShape">;
def : OnnxCompose<"Size", "buildSize">;
def : OnnxCompose<"ConstantOfShape", "buildConstantOfShape">;

#endif
