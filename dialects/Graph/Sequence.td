// SPDX-License-Identifier: Apache-2.0
//
// ONNX's sequences and optionals, as far as their length is known when compiling: they are lists of values that leave
// nothing behind in the program.
#ifndef HEWN_GRAPH_SEQUENCE
#define HEWN_GRAPH_SEQUENCE

include "dialects/Graph/GraphBase.td"

def Graph_SequenceOp : GraphOp<"sequence", [Pure]> {
  let summary = "Holds the elements of a sequence while a model is imported; whoever reads it takes them from here.";
  let arguments = (ins Variadic<Tensor>:$elements);
  let results = (outs NoneType:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let onnx = [Onnx<"SequenceEmpty", 11, 0, "buildSequence">, Onnx<"SequenceConstruct", 11, 0, "buildSequence">];
}

def : OnnxCompose<"SequenceInsert", "buildSequenceInsert", 11>;
def : OnnxCompose<"SequenceErase", "buildSequenceErase", 11>;
def : OnnxCompose<"SequenceAt", "buildSequenceAt", 11>;
def : OnnxCompose<"SequenceLength", "buildSequenceLength", 11>;
def : OnnxCompose<"SplitToSequence", "buildSplitToSequence", 11>;
def : OnnxCompose<"ConcatFromSequence", "buildConcatFromSequence", 11>;
def : OnnxCompose<"Optional", "buildOptional", 15>;
def : OnnxCompose<"OptionalHasElement", "buildOptionalHasElement", 15>;
def : OnnxCompose<"OptionalGetElement", "buildOptional", 15>;

#endif
