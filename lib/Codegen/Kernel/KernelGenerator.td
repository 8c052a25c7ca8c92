// SPDX-License-Identifier: Apache-2.0
//
// The interface by which a target description provides its kernel generator.
#ifndef HEWN_KERNEL_GENERATOR
#define HEWN_KERNEL_GENERATOR

include "mlir/IR/OpBase.td"

def GeneratedTarget : AttrInterface<"GeneratedTarget"> {
  let cppNamespace = "::hewn::codegen";
  let description = [{
    A target description with a codegen::KernelGenerator. The attributes of the plan dialect
    implement the interface by external models, which target::registerDialects attaches.
  }];
  let methods = [
    InterfaceMethod<"Returns the generator of the target's kernels.", "const ::hewn::codegen::KernelGenerator &",
                    "getKernelGenerator">,
  ];
}

#endif
