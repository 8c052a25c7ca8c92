// SPDX-License-Identifier: Apache-2.0
//
// Parts that call code that is not hewn's. In a file of its own: who emits calls asks, and nobody else.
#ifndef HEWN_GRAPH_FOREIGN
#define HEWN_GRAPH_FOREIGN

include "mlir/IR/OpBase.td"

def ForeignOpInterface : OpInterface<"ForeignOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A part that calls functions which are given from outside. Their addresses come before its parameters, in the order of the names.
  }];
  let methods = [InterfaceMethod<"The symbols of the functions.", "::llvm::SmallVector<::llvm::StringRef>", "getFunctions">];
}

#endif
