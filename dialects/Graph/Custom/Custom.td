// SPDX-License-Identifier: Apache-2.0
//
// Ops that the user gives: a C function by its symbol, and what the definition says of dims (Definition.h). Each op carries its
// definition, so that its shapes follow from its operands, and what it trusts is looked at, as with every other op.
#ifndef HEWN_GRAPH_CUSTOM
#define HEWN_GRAPH_CUSTOM

include "dialects/Graph/Custom/Foreign.td"
include "dialects/Graph/GraphKinds.td"

// Operands: the tensors of attributes and, where a shape function has told them, the sizes (`numTensors` in all); then the inputs that are
// there. `operandSegmentSizes` has a 0 for an input that is not.
//
// `values`: the attributes in the definition's order, a number of index type is the operand with a tensor, unit an absent one.
// `inputDims`: of each operand behind the tensors the dims that it must have, unit where they may be any. In a list are numbers and
// expressions over names; a name by itself stands for the operand's dim where it comes first, and "..." in front for any number of dims.
// `text`: operands, then results, that hold strings. `sizeNames`: names of dims that only a run knows.
class CustomBase<string mnemonic, list<string> methods, dag more>
    : GraphOp<mnemonic, [DeclareOpInterfaceMethods<ShapeOpInterface>, DeclareOpInterfaceMethods<RequiringOpInterface>,
                         DeclareOpInterfaceMethods<PartOpInterface, methods>, DeclareOpInterfaceMethods<ForeignOpInterface>,
                         DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = !con((ins Variadic<Tensor>:$given, StrAttr:$function, ArrayAttr:$values, I64Attr:$numTensors,
                            DenseI32ArrayAttr:$operandSegmentSizes, ArrayAttr:$inputDims, DenseBoolArrayAttr:$text,
                            StrArrayAttr:$sizeNames, UnitAttr:$pure), more);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_CustomOp : CustomBase<"custom", ["getBoundDims", "getDefinedSymbols"],
                                (ins ArrayAttr:$outputDims, TypeArrayAttr:$outputTypes, StrArrayAttr:$sizes,
                                     ArrayAttr:$bounds, UnitAttr:$counts)> {
  let summary = "Calls `function`, a C function of the user's, for its results.";
  let description = [{
    `sizes`: the symbols that stand for `sizeNames` in the program, `bounds` the most that each can be, unit where nobody says. With `counts` the
    function tells them: every one has a bound, and a dim that is a size is nothing else. Without, they were read of what
    `graph.custom_sizes` has told.
  }];
  let results = (outs Variadic<Tensor>:$outputs);
}

def Graph_CustomSizesOp : CustomBase<"custom_sizes", [], (ins)> {
  let summary = "Calls `function`, the shape function of a custom op, for the sizes that only a run knows: an i64 each.";
  let results = (outs Tensor:$result);
}

#endif
