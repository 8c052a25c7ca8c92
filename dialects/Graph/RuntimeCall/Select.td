// SPDX-License-Identifier: Apache-2.0
//
// Runtime calls with a result dim that depends on data. The attribute `count` is the symbol of this
// dim.
#ifndef HEWN_GRAPH_RUNTIMECALL_SELECT
#define HEWN_GRAPH_RUNTIMECALL_SELECT

include "dialects/Graph/GraphKinds.td"

def Graph_NonZeroOp : CountingPart<"non_zero", "nonzero", "{}"> {
  let summary = "The indices of the non-zero elements of x in row-major order, one column for each element";
  let arguments = (ins Tensor:$x, StrAttr:$count);
  let onnx = [Onnx<"NonZero", 9, 0, "buildNonZero">];
}

def Graph_CompressOp
    : CountingPart<"compress", "compress", "{getAxis().has_value(), int64_t(getAxis().value_or(0))}"> {
  let summary = "The slices of x along `axis` (or its elements in row-major order) for which `condition` is true";
  let description = "`condition` may be shorter than the dim; the remaining slices are not selected.";
  let arguments = (ins Tensor:$x, Tensor:$condition, OptionalAttr<I64Attr>:$axis, StrAttr:$count);
  let onnx = [Onnx<"Compress", 9, 0, "buildCompress">];
}

def Graph_UniqueOp : CountingPart<"unique", "unique",
                                  "{getSorted(), getAxis().has_value(), int64_t(getAxis().value_or(0))}",
                                  [AttrSizedResultSegments]> {
  let summary = "The unique elements of x, or slices along `axis`, sorted or in order of first occurrence";
  let description = [{
    Optional results: `indices` has the index of the first occurrence of each unique element.
    `inverse` has, for each element of x, the index of its unique element. `counts` has the number
    of occurrences of each unique element.
  }];
  let arguments = (ins Tensor:$x, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<BoolAttr, "true">:$sorted,
                       StrAttr:$count);
  let results = (outs Tensor:$values, Optional<Tensor>:$indices, Optional<Tensor>:$inverse, Optional<Tensor>:$counts);
  let onnx = [Onnx<"Unique", 11, 0, "buildUnique">];
}

def Graph_NonMaxSuppressionOp : CountingPart<"non_max_suppression", "nonmaxsuppression", "{getCentered()}",
                                             [AttrSizedOperandSegments]> {
  let summary = "Selects boxes by descending score and drops those that overlap a selected one";
  let description = [{
    Each row of the result identifies a selected box: (batch, class, box).

    | operand | meaning |
    | --- | --- |
    | `boxes` | [batch, n, 4] |
    | `scores` | [batch, classes, n] |
    | `limit` | maximum number of boxes per class; absent means 0 |
    | `overlap` | boxes with a larger intersection over union are dropped |
    | `threshold` | boxes with a lower score are ignored |

    `maxPerClass` is `limit` if it is known at compile time.
  }];
  let arguments = (ins Tensor:$boxes, Tensor:$scores, Optional<Tensor>:$limit, Optional<Tensor>:$overlap,
                       Optional<Tensor>:$threshold, DefaultValuedAttr<BoolAttr, "false">:$centered,
                       OptionalAttr<I64Attr>:$maxPerClass, StrAttr:$count);
  let onnx = [Onnx<"NonMaxSuppression", 10, 0, "buildNonMaxSuppression">];
}

#endif
