// SPDX-License-Identifier: Apache-2.0
//
// Interleaved operands. In a file of its own: who puts operands together asks (Interleave.h), and nobody else.
#ifndef HEWN_GRAPH_INTERLEAVE
#define HEWN_GRAPH_INTERLEAVE

include "dialects/Graph/GraphKinds.td"

def InterleaveOpInterface : OpInterface<"InterleaveOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A move that interleaves its operands: element i of the result is element i / steps of the operand that i mod steps counts, the last
    dim fastest.
  }];
  let methods = [InterfaceMethod<"A step for each dim; there are as many operands as their product.", "::llvm::SmallVector<int64_t>", "getInterleaveSteps">];
}

def Graph_InterleaveOp : Move<"interleave", ["getCutForm", "getBandForm"], [DeclareOpInterfaceMethods<InterleaveOpInterface>]> {
  let summary = "Interleaved operands: element i of `shape` is element i / steps of the operand that i mod steps counts.";
  let description = [{
    Each operand is as long along a dim as the elements are that are its own; what it has behind them is not read.
  }];
  let arguments = (ins Variadic<Tensor>:$inputs, ArrayAttr:$shape, DenseI64ArrayAttr:$steps);
}

#endif
