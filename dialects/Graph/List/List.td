// SPDX-License-Identifier: Apache-2.0
//
// Run-time lists: sequences and optional values whose number of tensors is only known at run time.
// A list is one handle, in a tensor of rank 0. The run's context owns the tensors of a list until
// the next run. Lists are immutable: inserting or erasing a tensor creates a new list.
//
// A list of known length is a `graph.sequence` (Control/Sequence.td), which has no cost at run
// time. It is converted to a run-time list at loops, branches and outputs of the model.
#ifndef HEWN_GRAPH_LIST
#define HEWN_GRAPH_LIST

include "dialects/Graph/GraphKinds.td"

def Graph_RetypeOp : GraphTensorOp<"retype"> {
  let summary = "Converts list handles, or their integers, to another type; removed by `hewn-lower-handles`";
  let arguments = (ins Tensor:$x, TypeAttr:$to);
}

// A runtime call whose result is a list of type `to`. `text` is set if the tensors of the list
// contain strings.
class ListPart<string mnemonic, string part, string params, dag args> : Part<mnemonic, part, params> {
  let arguments = args;
}

def Graph_ListMakeOp
    : ListPart<"list_make", "listmake", "{getText()}",
               (ins Variadic<Tensor>:$elements, TypeAttr:$to, BoolAttr:$text)> {
  let summary = "Creates a list of the tensors `elements`";
}

def Graph_ListInsertOp
    : ListPart<"list_insert", "listinsert", "{getText()}",
               (ins Tensor:$list, Tensor:$element, Tensor:$place, TypeAttr:$to, BoolAttr:$text)> {
  let summary = "Inserts a tensor at position `place` of a list; negative positions count from the end, kEnd appends";
}

def Graph_ListEraseOp : ListPart<"list_erase", "listerase", "{}", (ins Tensor:$list, Tensor:$place, TypeAttr:$to)> {
  let summary = "Removes the tensor at position `place` of a list";
}

def Graph_ListLengthOp : Part<"list_length", "listlength", "{}"> {
  let summary = "The number of tensors in a list, as i64";
  let arguments = (ins Tensor:$list);
}

def Graph_ListDimsOp : Part<"list_dims", "listdims", "{int64_t(getRank())}"> {
  let summary = "The dims of the tensor at position `place` of a list, which has rank `rank`";
  let arguments = (ins Tensor:$list, Tensor:$place, I64Attr:$rank);
}

def Graph_ListAtOp : Part<"list_at", "listat", "{}"> {
  let summary = "The tensor at position `place` of a list, which has the dims `shape`";
  let arguments = (ins Tensor:$list, Tensor:$place, ArrayAttr:$shape, TypeAttr:$of);
}

def Graph_ListJointDimsOp
    : Part<"list_joint_dims", "listjointdims", "{int64_t(getRank()), int64_t(getAxis()), getFresh()}"> {
  let summary = "The dims of the concatenation of a list's tensors (of rank `rank`) along `axis`; `fresh`: a new dim";
  let arguments = (ins Tensor:$list, I64Attr:$rank, I64Attr:$axis, BoolAttr:$fresh);
}

def Graph_ListJoinOp : Part<"list_join", "listjoin", "{int64_t(getAxis()), getFresh()}"> {
  let summary = "Concatenates a list's tensors along `axis`; `shape` is the result of list_joint_dims";
  let arguments = (ins Tensor:$list, I64Attr:$axis, BoolAttr:$fresh, ArrayAttr:$shape, TypeAttr:$of);
}

def Graph_ListSplitOp
    : ListPart<"list_split", "listsplit", "{int64_t(getAxis()), getDrop(), getText()}",
               (ins Tensor:$x, Tensor:$sizes, I64Attr:$axis, BoolAttr:$drop, TypeAttr:$to, BoolAttr:$text)> {
  let summary = "Splits x along `axis` into a list of parts";
  let description = [{
    If `sizes` has rank 0, all parts of x have this size, except that the last one may be smaller.
    Otherwise `sizes` has one size for each part. `drop` removes the split dim, which must be 1 in
    each part.
  }];
}

def Graph_ImageDecodeOp : ListPart<"image_decode", "imagedecode", "{int64_t(getFormat())}",
                                   (ins Tensor:$bytes, I64Attr:$format, TypeAttr:$to)> {
  let summary = "Decodes the image file in `bytes` to a list of one tensor; format 0: RGB, 1: BGR, 2: grayscale";
  let onnx = [Onnx<"ImageDecoder", 20, 0, "buildImageDecoder">];
}

#endif
