// SPDX-License-Identifier: Apache-2.0
//
// ONNX's sequences and optionals whose length is known when compiling. They exist while importing only, and ops on sequences give
// their elements. What only a run knows is a list: List/List.td.
#ifndef HEWN_GRAPH_SEQUENCE
#define HEWN_GRAPH_SEQUENCE

include "dialects/Graph/GraphBase.td"

def Graph_SequenceOp : GraphOp<"sequence", [Pure]> {
  let summary = "A list of tensors. With `absent`, an optional value that is not there. `held`: the type of what holds nothing.";
  let arguments = (ins Variadic<Tensor>:$elements, UnitAttr:$absent, OptionalAttr<TypeAttr>:$held);
  let results = (outs AnyTuple:$result);
  let assemblyFormat = "`(` $elements `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  // The importer lets only the nodes of these records take sequences.
  let onnx = [
    Onnx<"SequenceConstruct", 11, 0, "buildSequenceConstruct">, Onnx<"SequenceEmpty", 11, 0, "buildSequenceEmpty">,
    Onnx<"SequenceInsert", 11, 0, "buildSequenceInsert">, Onnx<"SequenceErase", 11, 0, "buildSequenceErase">,
    Onnx<"SequenceAt", 11, 0, "buildSequenceAt">, Onnx<"SequenceLength", 11, 0, "buildSequenceLength">,
    Onnx<"ConcatFromSequence", 11, 0, "buildConcatFromSequence">, Onnx<"SplitToSequence", 11, 0, "buildSplitToSequence">,
    Onnx<"SequenceMap", 17, 0, "buildSequenceMap">, Onnx<"Optional", 15, 0, "buildOptional">,
    Onnx<"OptionalHasElement", 15, 0, "buildOptionalHasElement">, Onnx<"OptionalGetElement", 15, 0, "buildOptionalGetElement">];
}

#endif
