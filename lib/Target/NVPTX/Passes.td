// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_NVPTX_PASSES
#define HEWN_NVPTX_PASSES

include "mlir/Pass/PassBase.td"

def LowerToNVVMPass : Pass<"hewn-lower-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "Lower the simt and nvptx dialects to NVVM intrinsics, or to inline PTX where LLVM has none";
  let description = [{
    ```mlir
    simt.barrier
    %v = simt.shuffle_xor %x, 16 of 32
    // becomes
    llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%c0) : (i32) -> ()
    %v = llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"(%all, %x, %c16, %c31)
    ```

    Addresses are i64 in the simt dialect. Intrinsics take pointers to shared or global memory;
    inline PTX takes 32-bit addresses of shared memory.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
