// SPDX-License-Identifier: Apache-2.0
//
// The interface of ops that have requirements on the dims of their operands beyond those that their
// types imply. The interface is not in GraphInterfaces.td because passes do not use it directly:
// they call `requirementsOf` (Requirements.h).
#ifndef HEWN_GRAPH_REQUIREMENTS
#define HEWN_GRAPH_REQUIREMENTS

include "mlir/IR/OpBase.td"

def RequiringOpInterface : OpInterface<"RequiringOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An op that has requirements on the dims of its operands beyond those that types and symbols
    imply. The interface has no default implementation: an op that calls C code, whose reads the
    compiler does not see, must state what this code assumes, even if it assumes nothing. The bounds
    of reads that `emitAt` emits are derived from these reads (Accesses.h), so an indexing op only
    states further requirements of ONNX.
  }];
  let methods = [InterfaceMethod<"Adds the requirements on the operands' dims.", "void", "requireDims",
                                 (ins "::hewn::graph::Requirements &":$requirements)>];
}

#endif
