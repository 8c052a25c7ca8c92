// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LOWER_PASSES
#define HEWN_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def LowerKernelsNaivePass : Pass<"hewn-lower-kernels-naive", "::mlir::ModuleOp"> {
  let summary = "Turn each plan.kernel into a function of one plain loop nest an op, by linalg where it can say the op";
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif
