// SPDX-License-Identifier: Apache-2.0
//
// What holds a graph together: constants, symbols, groups, control flow.
#ifndef HEWN_GRAPH_PROGRAM
#define HEWN_GRAPH_PROGRAM

include "dialects/Graph/GraphBase.td"

def Graph_ConstantOp : GraphOp<"constant", [Pure]> {
  let summary = "A constant tensor: short ones as elements, weights as `#graph.weight<key, offset : bytes>`.";
  let arguments = (ins AnyAttr:$value);
  let results = (outs Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
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
}

def Graph_DimValueOp : GraphTensorOp<"dim_value", [DeclareOpInterfaceMethods<MoveOpInterface>]> {
  let summary = "A rank-1 i64 tensor whose elements are expressions over symbols: what Shape gives.";
  let arguments = (ins ArrayAttr:$values);
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
}

def Graph_IfOp : GraphOp<"if", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Runs one of two regions; both yield the results' types.";
  let arguments = (ins Tensor:$condition);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat = "$condition attr-dict-with-keyword $thenRegion `else` $elseRegion `:` functional-type(operands, results)";
  let onnx = [Onnx<"If", 1, 0, "buildIf">];
}

def Graph_LoopOp : GraphOp<"loop", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ONNX's Loop: carried values, a condition, and outputs that each trip appends.";
  let description = [{
    Operands: trip count (i64, rank 0), condition (i1, rank 0), then the carried values. The body gets (trip, condition,
    carried...) and yields (condition, carried..., appended...). Results: the carried values, then for each appended value a
    tensor with one more dim in front, of extent trips run.
  }];
  let arguments = (ins Tensor:$trips, Tensor:$condition, Variadic<AnyType>:$carried);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "operands attr-dict-with-keyword $body `:` functional-type(operands, results)";
  let onnx = [Onnx<"Loop", 1, 0, "buildLoop">];
}

def Graph_ScanOp : GraphOp<"scan", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "ONNX's Scan: the body runs once a step over slices along dim 0 and carries state.";
  let description = [{
    Operands: `numStates` initial states, then the sequences. The body gets (states..., slices...) where a slice is a sequence
    without its dim 0, and yields (states..., slices...). Results: final states, then the output sequences. `backward[i]` runs
    sequence i (inputs, then outputs) from its end. Recurrent ops compose to it.
  }];
  let arguments = (ins Variadic<Tensor>:$inputs, I64Attr:$numStates, DenseBoolArrayAttr:$backward);
  let results = (outs Variadic<Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "operands attr-dict-with-keyword $body `:` functional-type(operands, results)";
  let onnx = [Onnx<"Scan", 9, 0, "buildScan">];
}

#endif
