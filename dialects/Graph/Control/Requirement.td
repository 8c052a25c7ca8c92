// SPDX-License-Identifier: Apache-2.0
//
// What sizes must be, said by itself.
#ifndef HEWN_GRAPH_REQUIREMENT
#define HEWN_GRAPH_REQUIREMENT

include "dialects/Graph/GraphBase.td"
include "dialects/Graph/Analysis/Requirements/Requirements.td"

def Graph_RequireDimsOp : GraphOp<"require_dims", [DeclareOpInterfaceMethods<RequiringOpInterface>]> {
  let summary = "Ends the run with a status where two sizes don't stand in `relation`: equal, broadcast, atMost.";
  let description = [{
    For builders: what ONNX asks of a node's operands that no op of ours needs. Of sizes that are known when a run begins it becomes an
    entry of `graph.requires`; of others, and in branches and loops, it stays where it is. `sizes` are two expressions.
  }];
  let arguments = (ins Graph_RelationAttr:$relation, ArrayAttr:$sizes);
  let assemblyFormat = "$relation $sizes attr-dict";
  let hasVerifier = 1;
}

#endif
