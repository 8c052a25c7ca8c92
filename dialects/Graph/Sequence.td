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

class OnnxSequence<string op, string build, int since> : OnnxCompose<op, build, since> { let onnxTakesSequences = 1; }
def : OnnxSequence<"SequenceInsert", "buildSequenceInsert", 11>;
def : OnnxSequence<"SequenceErase", "buildSequenceErase", 11>;
def : OnnxSequence<"SequenceAt", "buildSequenceAt", 11>;
def : OnnxSequence<"SequenceLength", "buildSequenceLength", 11>;
def : OnnxSequence<"SplitToSequence", "buildSplitToSequence", 11>;
def : OnnxSequence<"ConcatFromSequence", "buildConcatFromSequence", 11>;
def : OnnxSequence<"Optional", "buildOptional", 15>;
def : OnnxSequence<"OptionalHasElement", "buildOptionalHasElement", 15>;
def : OnnxSequence<"OptionalGetElement", "buildOptional", 15>;

#endif
