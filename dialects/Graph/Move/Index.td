// SPDX-License-Identifier: Apache-2.0
//
// Moves whose index arithmetic needs more than an offset and a step, and tensors that are made of indices alone.
#ifndef HEWN_GRAPH_MOVE_INDEX
#define HEWN_GRAPH_MOVE_INDEX

include "dialects/Graph/GraphKinds.td"

def Graph_TileOp : Move<"tile", ["getCutForm"]> {
  let summary = "x again and again: `repeats` times along each dim.";
  let arguments = (ins Tensor:$x, ArrayAttr:$repeats);
}
def : OnnxCompose<"Tile", "buildTile">;

def Graph_GatherElementsOp : Move<"gather_elements", ["getCutForm"], [Requires]> {
  let summary = "result[i..] = x[i.., indices[i..], i..] with the index in place of the one along `axis`.";
  let arguments = (ins Tensor:$x, Tensor:$indices, I64Attr:$axis);
}
def : OnnxCompose<"GatherElements", "buildGatherElements", 11>;

def Graph_GatherNDOp : Move<"gather_nd", ["getCutForm"], [Requires]> {
  let summary = "result[b.., i.., r..] = x[b.., indices[b.., i.., :], r..]: the indices' last dim is a position in x.";
  let arguments = (ins Tensor:$x, Tensor:$indices, I64Attr:$batchDims);
}
def : OnnxCompose<"GatherND", "buildGatherND", 11>;

def Graph_OneHotOp : Move<"one_hot", ["getCutForm"], [Requires]> {
  let summary = "values[1] where the index along `axis` is the one that `indices` tells, else values[0].";
  let arguments = (ins Tensor:$indices, Tensor:$values, ArrayAttr:$depth, I64Attr:$axis);
}
def : OnnxCompose<"OneHot", "buildOneHot", 9>;

def Graph_TriluOp : Move<"trilu", ["getCutForm"]> {
  let summary = "The upper or lower triangle of the last two dims, zero elsewhere; diagonal `k[0]` and beyond.";
  let arguments = (ins Tensor:$x, ArrayAttr:$k, BoolAttr:$upper);
}
def : OnnxCompose<"Trilu", "buildTrilu", 14>;

def Graph_EyeOp : Move<"eye"> {
  let summary = "A matrix with ones on diagonal `k`.";
  let arguments = (ins ArrayAttr:$shape, I64Attr:$k, TypeAttr:$elementType);
}
def : OnnxCompose<"EyeLike", "buildEyeLike", 9>;

def Graph_RangeOp : Move<"range"> {
  let summary = "start + i * delta, for i < count[0]; both are scalars.";
  let arguments = (ins Tensor:$start, Tensor:$delta, ArrayAttr:$count);
}
def : OnnxCompose<"Range", "buildRange", 11>;

def Graph_ReverseSequenceOp : Move<"reverse_sequence", ["getCutForm"], [Requires]> {
  let summary = "The first `lengths[b]` elements along `timeAxis` in reversed order, for each b along `batchAxis`.";
  let arguments = (ins Tensor:$x, Tensor:$lengths, I64Attr:$batchAxis, I64Attr:$timeAxis);
}
def : OnnxCompose<"ReverseSequence", "buildReverseSequence", 10>;

def Graph_DiagonalOp : Move<"diagonal", ["getCutForm"], [Requires]> {
  let summary = "result[i, r..] = x[i, .., i, r..]: the dims `dims` run together and stand first.";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims);
}

def Graph_DilateOp : Move<"dilate", ["getCutForm"]> {
  let summary = "Puts factors[d] - 1 zeros between the elements along each dim.";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$factors);
}

def : OnnxCompose<"DepthToSpace", "buildDepthToSpace">;
def : OnnxCompose<"SpaceToDepth", "buildSpaceToDepth">;
def : OnnxCompose<"CenterCropPad", "buildCenterCropPad", 18>;

#endif
