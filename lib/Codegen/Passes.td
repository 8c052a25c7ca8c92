// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_CODEGEN_PASSES
#define HEWN_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def ExpandMathPass : Pass<"hewn-expand-math", "::mlir::ModuleOp"> {
  let summary = "Rewrite exp, tanh, log and other math ops as arithmetic of our own; what has no formula calls libm";
  let options = [Option<"libm", "libm", "bool", "false", "Call libm for all of them: an oracle must not share our formulas">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def ExpandFloat8Pass : Pass<"hewn-expand-float8"> {
  let summary = "Rewrite conversions between float8 and f32 as integer arithmetic";
  let options = [
    Option<"half", "half", "bool", "false", "Those of f16 too">,
    Option<"bfloat", "bfloat", "bool", "false", "Those of bf16 too">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def DecideKernelsPass : Pass<"hewn-decide-kernels", "::mlir::ModuleOp"> {
  let summary = "Write on each plan.kernel how it is computed, and give it the scratch memory that it needs for that";
  let options = [Option<"tuning", "tuning", "std::string", "", "A file of schedules that were measured (docs/tutorials/tuning.md)">,
                 Option<"machine", "machine", "std::string", "", "The machine whose rows of it are used, as it has them">];
  // Some forms are found by the code that they would be.
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerKernelsPass : Pass<"hewn-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn each plan.kernel into a function of vector loops";
  let dependentDialects = ["::hewn::grid::GridDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerGridPass : Pass<"hewn-lower-grid", "::mlir::ModuleOp"> {
  let summary = "Call a function for each op of the dialect grid and of a machine's own, which tests define on a CPU";
  let dependentDialects = ["::mlir::func::FuncDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

def FormJointsPass : Pass<"hewn-form-joints", "::mlir::ModuleOp"> {
  let summary = "Make neighbouring launches of equal plan.joint one kernel, whose blocks wait for each other";
  let dependentDialects = ["::hewn::grid::GridDialect", "::mlir::func::FuncDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif
