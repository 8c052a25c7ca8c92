// SPDX-License-Identifier: Apache-2.0
//
// What holds a graph together: constants, symbols, groups.
#ifndef HEWN_GRAPH_PROGRAM
#define HEWN_GRAPH_PROGRAM

include "dialects/Graph/GraphBase.td"

def Graph_ConstantOp : GraphOp<"constant", [Pure]> {
  let summary = "A constant tensor: short ones as elements, weights as `#graph.weight<key, offset : bytes>`.";
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
  let summary = "Defines symbol `symbol` as element `index` of an integer tensor, when the model runs.";
  let arguments = (ins Tensor:$tensor, I64Attr:$index, StrAttr:$symbol);
  let assemblyFormat = "$symbol `=` $tensor `[` $index `]` attr-dict `:` type($tensor)";
  let hasVerifier = 1;
}

def Graph_DimValueOp : GraphTensorOp<"dim_value", [DeclareOpInterfaceMethods<MoveOpInterface>]> {
  let summary = "A rank-1 i64 tensor whose elements are expressions over symbols: what Shape gives.";
  let arguments = (ins ArrayAttr:$values);
}

def Graph_ScratchOp : GraphTensorOp<"scratch", [DeclareOpInterfaceMethods<MoveOpInterface>]> {
  let summary = "Memory of these dims for an engine to work in; nobody reads it afterwards.";
  let description = [{
    A result of a kernel like others, so that it has a place in the arena while the kernel runs. Where no engine uses it, it is zero.
  }];
  let arguments = (ins ArrayAttr:$shape, TypeAttr:$of);
}

def Graph_YieldOp : GraphOp<"yield", [Pure, ReturnLike, Terminator]> {
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

def Graph_GroupOp : GraphOp<"group", [IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Ops that become one kernel. `why` says what brought them together.";
  let arguments = (ins Variadic<Tensor>:$inputs, OptionalAttr<StrAttr>:$why);
  let results = (outs Variadic<Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict-with-keyword $body `:` functional-type($inputs, $outputs)";
  let hasRegionVerifier = 1;
}

#endif
