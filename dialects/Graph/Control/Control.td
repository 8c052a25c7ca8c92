// SPDX-License-Identifier: Apache-2.0
//
// The control-flow ops, which implement ControlOpInterface. Their regions may use outer values.
#ifndef HEWN_GRAPH_CONTROL
#define HEWN_GRAPH_CONTROL

include "dialects/Graph/GraphBase.td"

// Base class of control-flow ops. The attribute `graph.region_dims` of such an op has the dims of
// the region arguments. These dims may contain symbols that are defined in the region itself.
class Control<string mnemonic, list<string> methods = []>
    : GraphOp<mnemonic, [SingleBlockImplicitTerminator<"YieldOp">,
                         DeclareOpInterfaceMethods<ControlOpInterface, methods>]> {
  let hasRegionVerifier = 1;
}

def Graph_IfOp : Control<"if"> {
  let summary = "Runs one of two regions, which yield the results";
  let arguments = (ins Tensor:$condition);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat =
      "$condition attr-dict-with-keyword $thenRegion `else` $elseRegion `:` functional-type(operands, results)";
  let onnx = [Onnx<"If", 1, 0, "buildIf">];
}

def Graph_LoopOp : Control<"loop", ["getCarriedValues", "getStackedValues"]> {
  let summary = "ONNX's Loop: carried values, a condition, and outputs to which each trip appends";
  let description = [{
    The operands are the trip count (i64, rank 0), the condition (i1, rank 0) and the carried
    values. The body takes (trip, condition, carried...) and yields (condition, carried...,
    appended...). The results are the final carried values, then one tensor for each appended value,
    with an additional first dim whose size is the number of steps.

    If the dims of a carried value change from step to step, an additional carried value contains
    them. The body and the ops after the loop read it as symbols. `defines` lists the symbols in the
    dims of appended values that are only known after the loop has run.
  }];
  let arguments = (ins Tensor:$trips, Tensor:$condition, Variadic<AnyType>:$carried,
                       OptionalAttr<StrArrayAttr>:$defines);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "operands attr-dict-with-keyword $body `:` functional-type(operands, results)";
  let onnx = [Onnx<"Loop", 1, 0, "buildLoop">];
}

def Graph_ScanOp : Control<"scan", ["getNumSteps", "getCarriedValues", "getSlicedValues", "getStackedValues"]> {
  let summary = "ONNX's Scan: runs the body once a step over slices along dim 0, with carried states";
  let description = [{
    The operands are `numStates` initial states, then the sequences. The body takes (states...,
    slices...), where a slice is a sequence without its dim 0, and yields (states..., slices...).
    The results are the final states, then the output sequences. If `backward[i]` is set, sequence i
    (inputs, then outputs) is processed from its end. Recurrent ops decompose into this op.
  }];
  let arguments = (ins Variadic<Tensor>:$inputs, I64Attr:$numStates, DenseBoolArrayAttr:$backward);
  let results = (outs Variadic<Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "operands attr-dict-with-keyword $body `:` functional-type(operands, results)";
  let onnx = [Onnx<"Scan", 8, 0, "buildScan">];
}

def Graph_CheckIndicesOp : GraphOp<"check_indices", [DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let summary = "Ends the run with an error status if an index or length is out of range";
  let description = [{
    `extents` [1] or [k], one per entry of the last dim: valid are [-extent, extent). `extents`
    [1, 2]: the lowest and the highest valid index. Kernels only clamp indices.
  }];
  let arguments = (ins Tensor:$indices, Tensor:$extents);
  let assemblyFormat = "$indices `,` $extents attr-dict `:` type($indices) `,` type($extents)";
  let hasVerifier = 1;
}

def Graph_RequireOp : GraphOp<"require", [DeclareOpInterfaceMethods<RuntimeCallOpInterface>]> {
  let summary = "Ends the run with an error status if `condition`, an assumption made at compile time, is false";
  let description = [{
    `message` is the text of the status, after the node's name. `branch` is "then" or "else" if the
    assumption is that this branch of an If is not taken.
  }];
  let arguments = (ins Tensor:$condition, OptionalAttr<StrAttr>:$message, OptionalAttr<StrAttr>:$branch);
  let builders = [OpBuilder<(ins "mlir::Value":$condition), [{
    build($_builder, $_state, condition, mlir::StringAttr(), mlir::StringAttr());
  }]>];
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

#endif
