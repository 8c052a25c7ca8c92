// SPDX-License-Identifier: Apache-2.0
//
// What an op says of its operands' dims beyond their types. In a file of its own: passes ask `requirementsOf` (Requirements.h).
#ifndef HEWN_GRAPH_REQUIREMENTS
#define HEWN_GRAPH_REQUIREMENTS

include "mlir/IR/OpBase.td"

def RequiringOpInterface : OpInterface<"RequiringOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    An op whose operands must fit each other in a way that types and symbols may leave open. There is no default: an op that calls
    C code, whose reads nobody else can see, says what that code trusts, or that it trusts nothing. Where elements are read by
    `emitAt`, the reads themselves are looked at (Accesses.h), and what is said here is what ONNX asks for beyond them.
  }];
  let methods = [InterfaceMethod<"Says what must hold of the operands' dims.", "void", "requireDims",
                                 (ins "::hewn::graph::Requirements &":$requirements)>];
}

#endif
