// SPDX-License-Identifier: Apache-2.0
//
// Moves: each result element is an operand's element found by index. Sizes and offsets are attributes, constants or
// expressions over symbols; the importer resolves ONNX's shape operands to them.
#ifndef HEWN_GRAPH_MOVE
#define HEWN_GRAPH_MOVE

include "dialects/Graph/GraphKinds.td"


// Families that add moves: Move/*.td, Window.td.
def Graph_TransposeOp : Move<"transpose", ["getViewKind", "getViewOrder", "getCutForm", "getBandForm"]> {
  let summary = "Result dim i is operand dim order[i].";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$order);
  let hasFolder = 1;
  let onnx = [Onnx<"Transpose", 1, 0, "buildTranspose">];
}

def Graph_ReshapeOp : Move<"reshape", ["getViewKind", "getCutForm", "getBandForm"]> {
  let summary = "The same elements in row-major order under another shape.";
  let arguments = (ins Tensor:$x, ArrayAttr:$shape);
  let onnx = [Onnx<"Reshape", 5, 0, "buildReshape">, Onnx<"Flatten", 1, 0, "buildFlatten">, Onnx<"Squeeze", 1, 0, "buildSqueeze">,
              Onnx<"Unsqueeze", 1, 0, "buildUnsqueeze">];
}

def Graph_SliceOp : Move<"slice", ["getCutForm", "getBandForm"], [Requires]> {
  let summary = "result[i] = x[offsets + i * steps]; steps may be negative.";
  let arguments = (ins Tensor:$x, ArrayAttr:$offsets, ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let onnx = [Onnx<"Slice", 1, 0, "buildSlice">, Onnx<"Split", 1, 0, "buildSplit">];
}

def Graph_ConcatOp : Move<"concat", ["getCutForm", "getBandForm"], [DeclareOpInterfaceMethods<ConcatOpInterface>]> {
  let summary = "Operands one after another along `axis`.";
  let arguments = (ins Variadic<Tensor>:$inputs, I64Attr:$axis);
  let onnx = [Onnx<"Concat", 1, 0, "buildConcat">];
}

def Graph_ExpandOp : Move<"expand", ["getCutForm", "getBandForm", "getIsBroadcast"], [Requires]> {
  let summary = "Broadcasts to `shape` as ONNX's Expand does.";
  let arguments = (ins Tensor:$x, ArrayAttr:$shape);
  let onnx = [Onnx<"Expand", 8, 0, "buildExpand">];
}

def Graph_PadOp : Move<"pad", ["getCutForm", "getBandForm"], [DeclareOpInterfaceMethods<PaddingOpInterface>]> {
  let summary = "Adds `low` and `high` elements (negative: removes) around each dim, filled with `value`'s element or by `mode`.";
  let arguments = (ins Tensor:$x, Optional<Tensor>:$value, ArrayAttr:$low, ArrayAttr:$high, DefaultValuedAttr<StrAttr, "\"constant\"">:$mode);
  let onnx = [Onnx<"Pad", 1, 0, "buildPad">];
}

def Graph_GatherOp : Move<"gather", ["getCutForm", "getLookedUpDim"]> {
  let summary = "result[a, i, b] = x[a, indices[i], b] along `axis`; negative indices count from the end.";
  let arguments = (ins Tensor:$x, Tensor:$indices, I64Attr:$axis);
  let onnx = [Onnx<"Gather", 1, 0, "buildGather">];
}

def Graph_SpreadOp : Move<"spread", [], [DeclareOpInterfaceMethods<SplitKOpInterface>]> {
  let summary = "`parts` tensors along a new first dim whose sum is x.";
  let description = [{
    Which they are is left to the engine that makes them: x and zeros, or what it has of x's own sums.
  }];
  let arguments = (ins Tensor:$x, I64Attr:$parts);
}

def Graph_WindowOp : Move<"window", ["getCutForm", "getBandForm"]> {
  let summary = "Sliding windows over trailing dims: result[.., o, k] = x[.., o*strides + k*dilations - low], `fill` outside.";
  let description = [{
    x has dims [l.., d1..dn], the result [l.., o1..on, k1..kn] with n = size of `kernel`. Pooling is a reduction of it; it is
    never stored, the reduction reads through it.
  }];
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$low, ArrayAttr:$sizes, F64Attr:$fill);
}

def : OnnxCompose<"Shape", "buildShape">;
def : OnnxCompose<"Size", "buildSize">;
def : OnnxCompose<"ConstantOfShape", "buildConstantOfShape">;

#endif
