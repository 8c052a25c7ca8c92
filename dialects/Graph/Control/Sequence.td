// SPDX-License-Identifier: Apache-2.0
//
// ONNX's sequences and optional values whose length is known at compile time. These ops exist only
// during import, which replaces all uses of a sequence by its elements. List/List.td has the lists
// whose length is only known at run time.
#ifndef HEWN_GRAPH_SEQUENCE
#define HEWN_GRAPH_SEQUENCE

include "dialects/Graph/GraphBase.td"

def Graph_SequenceOp : GraphOp<"sequence", [Pure]> {
  let summary = "A list of tensors. `absent`: an empty optional value. `held`: the element type of an empty list";
  let arguments = (ins Variadic<Tensor>:$elements, UnitAttr:$absent, OptionalAttr<TypeAttr>:$held);
  let results = (outs AnyTuple:$result);
  let assemblyFormat = "`(` $elements `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  // ONNX records of all nodes that accept sequences: the importer passes sequences to no other
  // node.
  let onnx = [
    Onnx<"SequenceConstruct", 11, 0, "buildSequenceConstruct">, Onnx<"SequenceEmpty", 11, 0, "buildSequenceEmpty">,
    Onnx<"SequenceInsert", 11, 0, "buildSequenceInsert">, Onnx<"SequenceErase", 11, 0, "buildSequenceErase">,
    Onnx<"SequenceAt", 11, 0, "buildSequenceAt">, Onnx<"SequenceLength", 11, 0, "buildSequenceLength">,
    Onnx<"ConcatFromSequence", 11, 0, "buildConcatFromSequence">,
    Onnx<"SplitToSequence", 11, 0, "buildSplitToSequence">,
    Onnx<"SequenceMap", 17, 0, "buildSequenceMap">, Onnx<"Optional", 15, 0, "buildOptional">,
    Onnx<"OptionalHasElement", 15, 0, "buildOptionalHasElement">,
    Onnx<"OptionalGetElement", 15, 0, "buildOptionalGetElement">];
}

#endif
