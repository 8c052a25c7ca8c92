// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_CODEGEN_PASSES
#define HEWN_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def LowerKernelsPass : Pass<"hewn-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn each plan.kernel into a function of vector loops";
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif
