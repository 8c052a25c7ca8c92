// SPDX-License-Identifier: Apache-2.0
//
// Indexing ops whose operand index is not only an offset plus a step, and ops that compute tensors
// from indices alone.
#ifndef HEWN_GRAPH_INDEXING_INDEX
#define HEWN_GRAPH_INDEXING_INDEX

include "dialects/Graph/GraphKinds.td"

def Graph_TileOp : Move<"tile", ["getShardingRule"]> {
  let summary = "Repeats x `repeats` times along each dim";
  let arguments = (ins Tensor:$x, ArrayAttr:$repeats);
}
def : OnnxCompose<"Tile", "buildTile">;

def Graph_GatherElementsOp : Move<"gather_elements", ["getShardingRule"], [Requires]> {
  let summary = "result[i..] = x[i..] with the index along `axis` replaced by indices[i..]";
  let arguments = (ins Tensor:$x, Tensor:$indices, I64Attr:$axis);
}
def : OnnxCompose<"GatherElements", "buildGatherElements", 11>;

def Graph_GatherNDOp : Move<"gather_nd", ["getShardingRule"], [Requires]> {
  let summary = "result[b.., i.., r..] = x[b.., indices[b.., i.., :], r..]; the last dim of `indices` is an index";
  let arguments = (ins Tensor:$x, Tensor:$indices, I64Attr:$batchDims);
}
def : OnnxCompose<"GatherND", "buildGatherND", 11>;

def Graph_OneHotOp : Move<"one_hot", ["getShardingRule"], [Requires]> {
  let summary = "One-hot encoding along `axis`: values[1] at the index given by `indices`, values[0] elsewhere";
  let arguments = (ins Tensor:$indices, Tensor:$values, ArrayAttr:$depth, I64Attr:$axis);
}
def : OnnxCompose<"OneHot", "buildOneHot", 9>;

def Graph_TriluOp : Move<"trilu", ["getShardingRule"]> {
  let summary = "Upper or lower triangle of the last two dims from diagonal `k[0]` on, zero elsewhere";
  let arguments = (ins Tensor:$x, ArrayAttr:$k, BoolAttr:$upper);
}
def : OnnxCompose<"Trilu", "buildTrilu", 14>;

def Graph_EyeOp : Move<"eye"> {
  let summary = "A matrix with ones on diagonal `k`, zero elsewhere";
  let arguments = (ins ArrayAttr:$shape, I64Attr:$k, TypeAttr:$elementType);
}
def : OnnxCompose<"EyeLike", "buildEyeLike", 9>;

def Graph_RangeOp : Move<"range"> {
  let summary = "start + i * delta for i < count[0]; `start` and `delta` are scalars";
  let arguments = (ins Tensor:$start, Tensor:$delta, ArrayAttr:$count);
}
def : OnnxCompose<"Range", "buildRange", 11>;

def Graph_ReverseSequenceOp : Move<"reverse_sequence", ["getShardingRule"], [Requires]> {
  let summary = "Reverses the first `lengths[b]` elements along `timeAxis`, for each b along `batchAxis`";
  let arguments = (ins Tensor:$x, Tensor:$lengths, I64Attr:$batchAxis, I64Attr:$timeAxis);
}
def : OnnxCompose<"ReverseSequence", "buildReverseSequence", 10>;

def Graph_DiagonalOp : Move<"diagonal", ["getShardingRule"], [Requires]> {
  let summary = "Diagonal over the dims `dims`, which become the first dim: result[i, r..] = x[i, .., i, r..]";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$dims);
}

def Graph_DilateOp : Move<"dilate", ["getShardingRule"]> {
  let summary = "Inserts factors[d] - 1 zeros between the elements along each dim d";
  let arguments = (ins Tensor:$x, DenseI64ArrayAttr:$factors);
}

def : OnnxCompose<"DepthToSpace", "buildDepthToSpace">;
def : OnnxCompose<"SpaceToDepth", "buildSpaceToDepth">;
def : OnnxCompose<"CenterCropPad", "buildCenterCropPad", 18>;

#endif
