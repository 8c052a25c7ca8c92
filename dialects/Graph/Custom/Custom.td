// SPDX-License-Identifier: Apache-2.0
//
// User-defined ops, which call a C function by its symbol. Each op contains the user's definition
// of its dims (Definition.h), from which its result dims and requirements are derived.
#ifndef HEWN_GRAPH_CUSTOM
#define HEWN_GRAPH_CUSTOM

include "dialects/Graph/Custom/Foreign.td"
include "dialects/Graph/GraphKinds.td"

// Base class of graph.custom and graph.custom_sizes. The operands are the tensors of the node's
// attributes, then the sizes that a shape function has returned (`numTensors` in all), then the
// inputs that are present. `operandSegmentSizes` is 0 for an input that is absent.
//
// - `values`: the node's attributes, in the order of the definition. A number of index type is the
//   number of the operand that contains a tensor attribute. A unit attribute is an absent
//   attribute.
// - `inputDims`: for each operand after the tensors, its required dims, or unit if it may have any
//   dims. A list of dims consists of numbers and expressions over names. The first occurrence of a
//   name defines it as the size of that dim. "..." at the start matches any number of dims.
// - `text`: for each operand, then for each result, whether its elements are strings.
// - `sizeNames`: names of the dims that are known only at run time.
class CustomBase<string mnemonic, list<string> methods, dag more>
    : GraphOp<mnemonic, [DeclareOpInterfaceMethods<ShapeOpInterface>, DeclareOpInterfaceMethods<RequiringOpInterface>,
                         DeclareOpInterfaceMethods<RuntimeCallOpInterface, methods>,
                         DeclareOpInterfaceMethods<ForeignOpInterface>,
                         DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = !con((ins Variadic<Tensor>:$given, StrAttr:$function, ArrayAttr:$values, I64Attr:$numTensors,
                            DenseI32ArrayAttr:$operandSegmentSizes, ArrayAttr:$inputDims, DenseBoolArrayAttr:$text,
                            StrArrayAttr:$sizeNames, UnitAttr:$pure), more);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_CustomOp : CustomBase<"custom", ["getBoundDims", "getDefinedSymbols"],
                                (ins ArrayAttr:$outputDims, TypeArrayAttr:$outputTypes, StrArrayAttr:$sizes,
                                     ArrayAttr:$bounds, UnitAttr:$counts)> {
  let summary = "Calls the user's C function `function`";
  let description = [{
    `sizes` are the symbols for the names in `sizeNames`, and `bounds` their upper bounds (unit if
    there is none). With `counts`, the function sets the sizes itself: each size must have a bound,
    and a result dim that depends on a size must be that size alone. Without `counts`, a
    `graph.custom_sizes` op has returned the sizes.
  }];
  let results = (outs Variadic<Tensor>:$outputs);
}

def Graph_CustomSizesOp : CustomBase<"custom_sizes", [], (ins)> {
  let summary = "Calls the shape function `function`; returns an i64 for each size that is known at run time only";
  let results = (outs Tensor:$result);
}

#endif
