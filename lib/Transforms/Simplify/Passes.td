// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_SIMPLIFY_PASSES
#define HEWN_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def ComposeOpsPass : Pass<"hewn-compose-ops"> {
  let summary = "Write composed ops in elementwise, reduce, cumulate, contract and move ops";
}

def EraseUnreadPass : Pass<"hewn-erase-unread", "::mlir::func::FuncOp"> {
  let summary = "Erase ops of which nobody reads a result or a symbol";
}

def LowerHandlesPass : Pass<"hewn-lower-handles", "::mlir::ModuleOp"> {
  let summary = "Make integers of the handles of strings, sequences and optional values";
}

def FoldConstantsPass : Pass<"hewn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Compile and run what depends on constants alone, and put the results in its place";
}

def RequireDimsPass : Pass<"hewn-require-dims", "::mlir::func::FuncOp"> {
  let summary = "Say what a run must check of dims that are known only then";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def VerifyAccessesPass : Pass<"hewn-verify-accesses", "::mlir::func::FuncOp"> {
  let summary = "Check that every access of an op is inside of its tensor by type, or looked at before";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def SinkReshapesPass : Pass<"hewn-sink-reshapes", "::mlir::func::FuncOp"> {
  let summary = "Move reshapes of a contraction's result behind the elementwise ops on it";
}

#endif
