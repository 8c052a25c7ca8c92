// SPDX-License-Identifier: Apache-2.0
//
// The op that interleaves its operands. It has a file of its own because only few files include it
// (through Interleave.h).
#ifndef HEWN_GRAPH_INTERLEAVE
#define HEWN_GRAPH_INTERLEAVE

include "dialects/Graph/GraphKinds.td"

def InterleaveOpInterface : OpInterface<"InterleaveOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An indexing op that interleaves its operands along several dims: element i of the result is
    element i / steps of operand number i mod steps. For several dims, the operands are numbered in
    row-major order of i mod steps.
  }];
  let methods = [InterfaceMethod<"Returns the step of each dim. The number of operands is the product of the steps.",
                                 "::llvm::SmallVector<int64_t>", "getInterleaveSteps">];
}

def Graph_InterleaveOp : Move<"interleave", ["getShardingRule", "getHaloRule"],
                              [DeclareOpInterfaceMethods<InterleaveOpInterface>]> {
  let summary = "Interleaves operands: element i of `shape` is element i / steps of operand number i mod steps";
  let description = [{
    Along each dim, each operand must have at least as many elements as the result takes from it.
    The op does not read further elements of the operand.
  }];
  let arguments = (ins Variadic<Tensor>:$inputs, ArrayAttr:$shape, DenseI64ArrayAttr:$steps);
}

#endif
