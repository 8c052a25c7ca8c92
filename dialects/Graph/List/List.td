// SPDX-License-Identifier: Apache-2.0
//
// Sequences and optional values of which only a run knows how many tensors they hold. Each is one handle, a tensor of rank 0; its
// tensors lie in the run's context until the next run. Nothing changes a list: what inserts or erases makes another one.
//
// A list whose length is known when compiling is a `graph.sequence` (Control/Sequence.td) and costs nothing; it becomes one of these
// where it meets a loop, a branch or an output.
#ifndef HEWN_GRAPH_LIST
#define HEWN_GRAPH_LIST

include "dialects/Graph/GraphKinds.td"

def Graph_RetypeOp : GraphTensorOp<"retype"> {
  let summary = "The same handles, or the integers that they are, as another type. `hewn-lower-handles` leaves none.";
  let arguments = (ins Tensor:$x, TypeAttr:$to);
}

// A part whose result is a list of type `to`. `text`: its tensors hold strings.
class ListPart<string mnemonic, string part, string params, dag args> : Part<mnemonic, part, params> {
  let arguments = args;
}

def Graph_ListMakeOp
    : ListPart<"list_make", "listmake", "{getText()}", (ins Variadic<Tensor>:$elements, TypeAttr:$to, BoolAttr:$text)> {
  let summary = "A list of these tensors.";
}

def Graph_ListInsertOp
    : ListPart<"list_insert", "listinsert", "{getText()}", (ins Tensor:$list, Tensor:$element, Tensor:$place, TypeAttr:$to, BoolAttr:$text)> {
  let summary = "The list with a tensor more at `place`, which counts from the end where it is negative; kEnd: behind the last.";
}

def Graph_ListEraseOp : ListPart<"list_erase", "listerase", "{}", (ins Tensor:$list, Tensor:$place, TypeAttr:$to)> {
  let summary = "The list without the tensor at `place`.";
}

def Graph_ListLengthOp : Part<"list_length", "listlength", "{}"> {
  let summary = "How many tensors a list holds, as i64.";
  let arguments = (ins Tensor:$list);
}

def Graph_ListDimsOp : Part<"list_dims", "listdims", "{int64_t(getRank())}"> {
  let summary = "The dims of the tensor at `place`, which has rank `rank`.";
  let arguments = (ins Tensor:$list, Tensor:$place, I64Attr:$rank);
}

def Graph_ListAtOp : Part<"list_at", "listat", "{}"> {
  let summary = "The tensor at `place`, of these dims.";
  let arguments = (ins Tensor:$list, Tensor:$place, ArrayAttr:$shape, TypeAttr:$of);
}

def Graph_ListJointDimsOp : Part<"list_joint_dims", "listjointdims", "{int64_t(getRank()), int64_t(getAxis()), getFresh()}"> {
  let summary = "The dims of a list's tensors, of rank `rank` each, put together along `axis`; `fresh`: a dim of its own.";
  let arguments = (ins Tensor:$list, I64Attr:$rank, I64Attr:$axis, BoolAttr:$fresh);
}

def Graph_ListJoinOp : Part<"list_join", "listjoin", "{int64_t(getAxis()), getFresh()}"> {
  let summary = "A list's tensors put together so; `shape` is what list_joint_dims tells.";
  let arguments = (ins Tensor:$list, I64Attr:$axis, BoolAttr:$fresh, ArrayAttr:$shape, TypeAttr:$of);
}

def Graph_ListSplitOp
    : ListPart<"list_split", "listsplit", "{int64_t(getAxis()), getDrop(), getText()}",
               (ins Tensor:$x, Tensor:$sizes, I64Attr:$axis, BoolAttr:$drop, TypeAttr:$to, BoolAttr:$text)> {
  let summary = "x cut along `axis`: into parts of sizes[0] where that is of rank 0, else into parts of these sizes; `drop`: without the dim, which is 1.";
}

def Graph_ImageDecodeOp : ListPart<"image_decode", "imagedecode", "{int64_t(getFormat())}",
                                   (ins Tensor:$bytes, I64Attr:$format, TypeAttr:$to)> {
  let summary = "A list of one tensor, the picture in a file of `bytes`: red, green, blue (0), blue, green, red (1) or gray (2).";
  let onnx = [Onnx<"ImageDecoder", 20, 0, "buildImageDecoder">];
}

#endif
