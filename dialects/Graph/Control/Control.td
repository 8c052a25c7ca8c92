// SPDX-License-Identifier: Apache-2.0
//
// Control flow: the ops of ControlOpInterface. Their regions read values of outside directly.
#ifndef HEWN_GRAPH_CONTROL
#define HEWN_GRAPH_CONTROL

include "dialects/Graph/GraphBase.td"

// `graph.region_dims` has the dims of a region's arguments; they may be symbols that the region reads itself.
class Control<string mnemonic, list<string> methods = []>
    : GraphOp<mnemonic, [SingleBlockImplicitTerminator<"YieldOp">, DeclareOpInterfaceMethods<ControlOpInterface, methods>]> {
  let hasRegionVerifier = 1;
}

def Graph_IfOp : Control<"if"> {
  let summary = "Runs one of two regions; both yield the results' types.";
  let arguments = (ins Tensor:$condition);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$thenRegion, SizedRegion<1>:$elseRegion);
  let assemblyFormat =
      "$condition attr-dict-with-keyword $thenRegion `else` $elseRegion `:` functional-type(operands, results)";
  let onnx = [Onnx<"If", 1, 0, "buildIf">];
}

def Graph_LoopOp : Control<"loop", ["getCarriedValues", "getStackedValues"]> {
  let summary = "ONNX's Loop: carried values, a condition, and outputs that each trip appends.";
  let description = [{
    Operands: trip count (i64, rank 0), condition (i1, rank 0), then the carried values. The body gets (trip, condition,
    carried...) and yields (condition, carried..., appended...). Results: the carried values, then for each appended value a
    tensor with one more dim in front, of extent trips run.

    A carried value whose dims change from trip to trip has a second one beside it that holds these dims; the body reads
    them as symbols, and so does what follows the loop. `defines`: symbols in the dims of appended values that the trips tell.
  }];
  let arguments = (ins Tensor:$trips, Tensor:$condition, Variadic<AnyType>:$carried, OptionalAttr<StrArrayAttr>:$defines);
  let results = (outs Variadic<AnyType>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "operands attr-dict-with-keyword $body `:` functional-type(operands, results)";
  let onnx = [Onnx<"Loop", 1, 0, "buildLoop">];
}

def Graph_ScanOp : Control<"scan", ["getNumSteps", "getCarriedValues", "getSlicedValues", "getStackedValues"]> {
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
  let onnx = [Onnx<"Scan", 8, 0, "buildScan">];
}

def Graph_CheckIndicesOp : GraphOp<"check_indices", [DeclareOpInterfaceMethods<PartOpInterface>]> {
  let summary = "Ends the run with a status where an index is outside of [-extent, extent).";
  let description = "`extents` has one element for all indices, or one for each along their last dim. Kernels clamp indices: they never fail.";
  let arguments = (ins Tensor:$indices, Tensor:$extents);
  let assemblyFormat = "$indices `,` $extents attr-dict `:` type($indices) `,` type($extents)";
  let hasVerifier = 1;
}

def Graph_RequireOp : GraphOp<"require", [DeclareOpInterfaceMethods<PartOpInterface>]> {
  let summary = "Ends the run with a status where `condition` does not hold: what was assumed when compiling.";
  let arguments = (ins Tensor:$condition);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
  let hasVerifier = 1;
}

#endif
