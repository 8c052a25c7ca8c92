// SPDX-License-Identifier: Apache-2.0
//
// Program structure: constants, symbols, fusion groups.
#ifndef HEWN_GRAPH_PROGRAM
#define HEWN_GRAPH_PROGRAM

include "dialects/Graph/GraphBase.td"

def Graph_ConstantOp : GraphOp<"constant", [Pure]> {
  let summary = "A constant tensor: elements in the IR, or a weight `#graph.weight<key, offset : bytes>`";
  let arguments = (ins AnyAttr:$value);
  let results = (outs Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Attribute":$value), [{
    $_state.addTypes(type); $_state.addAttribute("value", value);
  }]>];
  let skipDefaultBuilders = 1;
  let onnx = [Onnx<"Constant", 1, 0, "buildConstant">];
}

def Graph_ReadSymbolOp : GraphOp<"read_symbol"> {
  let summary = "Defines `symbol` as element `index` of an integer tensor at run time";
  let arguments = (ins Tensor:$tensor, I64Attr:$index, StrAttr:$symbol);
  let assemblyFormat = "$symbol `=` $tensor `[` $index `]` attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Graph_DimValueOp : GraphTensorOp<"dim_value", [DeclareOpInterfaceMethods<IndexingOpInterface>]> {
  let summary = "A rank-1 i64 tensor of expressions over symbols, such as the result of Shape";
  let arguments = (ins ArrayAttr:$values);
}

def Graph_ScratchOp : GraphTensorOp<"scratch", [DeclareOpInterfaceMethods<IndexingOpInterface>]> {
  let summary = "Scratch memory of these dims for the kernel generator";
  let description = [{
    The result of this op is a result of its kernel, and thus has an arena buffer while the kernel
    runs, but it has no uses after the kernel. If the kernel generator does not use the memory, the
    op gives zeros.
  }];
  let arguments = (ins ArrayAttr:$shape, TypeAttr:$of);
}

def Graph_YieldOp : GraphOp<"yield", [Pure, ReturnLike, Terminator]> {
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

def Graph_GroupOp : GraphOp<"group", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "A fusion group: ops that become one kernel. `why` is the reason for the fusion";
  let arguments = (ins Variadic<Tensor>:$inputs, OptionalAttr<StrAttr>:$why);
  let results = (outs Variadic<Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict-with-keyword $body `:` functional-type($inputs, $outputs)";
  let hasRegionVerifier = 1;
}

#endif
