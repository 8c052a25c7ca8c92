// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_NVPTX_PASSES
#define HEWN_NVPTX_PASSES

include "mlir/Pass/PassBase.td"

def LowerToNVVMPass : Pass<"hewn-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Make NVVM's intrinsics, and PTX where there is none, of the ops of the dialects grid and nvptx";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
