// SPDX-License-Identifier: Apache-2.0
//
// The op graph.require_dims, which states a condition on sizes.
#ifndef HEWN_GRAPH_REQUIREMENT
#define HEWN_GRAPH_REQUIREMENT

include "dialects/Graph/GraphBase.td"
include "dialects/Graph/Analysis/Requirements/Requirements.td"

def Graph_RequireDimsOp : GraphOp<"require_dims", [DeclareOpInterfaceMethods<RequiringOpInterface>]> {
  let summary = "Ends the run with an error status if two sizes do not satisfy `relation`: equal, broadcast, atMost, noCopy";
  let description = [{
    States a condition that ONNX requires of a node's operands, and that no other op states. `sizes`
    are two dim expressions. If both can be evaluated when a run begins, the op becomes an entry of
    `graph.requires`. Otherwise, and in branches and loops, the condition is checked where the op
    is.

    ```mlir
    graph.require_dims atMost [#graph.dim<"n + 1">, 6]
    ```
  }];
  let arguments = (ins Graph_RelationAttr:$relation, ArrayAttr:$sizes);
  let assemblyFormat = "$relation $sizes attr-dict";
  let hasVerifier = 1;
}

#endif
