// SPDX-License-Identifier: Apache-2.0
//
// Interface of runtime calls that call external functions. It has a file of its own because only
// the code that emits runtime calls uses it.
#ifndef HEWN_GRAPH_FOREIGN
#define HEWN_GRAPH_FOREIGN

include "mlir/IR/OpBase.td"

def ForeignOpInterface : OpInterface<"ForeignOpInterface"> {
  let cppNamespace = "::hewn::graph";
  let description = [{
    A runtime call that calls external functions. The parameters of the call start with the
    addresses of these functions, in the order of `getFunctions`.
  }];
  let methods = [InterfaceMethod<"Returns the symbols of the functions.", "::llvm::SmallVector<::llvm::StringRef>",
                                 "getFunctions">];
}

#endif
