// SPDX-License-Identifier: Apache-2.0
//
// Parts that decide how much comes out: the symbol `count` is that extent.
#ifndef HEWN_GRAPH_PART_SELECT
#define HEWN_GRAPH_PART_SELECT

include "dialects/Graph/GraphKinds.td"

def Graph_NonZeroOp : CountingPart<"non_zero", "nonzero", "{}"> {
  let summary = "The positions of the elements that are not 0, a column each, in row-major order.";
  let arguments = (ins Tensor:$x, StrAttr:$count);
  let onnx = [Onnx<"NonZero", 9, 0, "buildNonZero">];
}

def Graph_CompressOp
    : CountingPart<"compress", "compress", "{getAxis().has_value(), int64_t(getAxis().value_or(0))}"> {
  let summary = "The slices along `axis`, or the elements in row-major order, where `condition` holds; it may be shorter.";
  let arguments = (ins Tensor:$x, Tensor:$condition, OptionalAttr<I64Attr>:$axis, StrAttr:$count);
  let onnx = [Onnx<"Compress", 9, 0, "buildCompress">];
}

def Graph_UniqueOp : CountingPart<"unique", "unique", "{getSorted(), getAxis().has_value(), int64_t(getAxis().value_or(0))}",
                                  [AttrSizedResultSegments]> {
  let summary = "The unlike slices along `axis`, or elements, ascending or as they come; where each is first, which one each is, how many.";
  let arguments = (ins Tensor:$x, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<BoolAttr, "true">:$sorted, StrAttr:$count);
  let results = (outs Tensor:$values, Optional<Tensor>:$indices, Optional<Tensor>:$inverse, Optional<Tensor>:$counts);
  let onnx = [Onnx<"Unique", 11, 0, "buildUnique">];
}

def Graph_NonMaxSuppressionOp : CountingPart<"non_max_suppression", "nonmaxsuppression", "{getCentered()}",
                                             [AttrSizedOperandSegments]> {
  let summary = "Boxes by falling score, without those that overlap a chosen one: rows of (batch, class, box).";
  let description = [{
    boxes [batch, n, 4], scores [batch, classes, n]; then, each one number, how many boxes a class may have at most (absent: 0),
    the share of overlap above which a box is dropped, and the score above which boxes count. `maxPerClass`: the first of these where it
    is known.
  }];
  let arguments = (ins Tensor:$boxes, Tensor:$scores, Optional<Tensor>:$limit, Optional<Tensor>:$overlap, Optional<Tensor>:$threshold,
                       DefaultValuedAttr<BoolAttr, "false">:$centered, OptionalAttr<I64Attr>:$maxPerClass, StrAttr:$count);
  let onnx = [Onnx<"NonMaxSuppression", 10, 0, "buildNonMaxSuppression">];
}

#endif
