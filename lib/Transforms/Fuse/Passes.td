// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_FUSE_PASSES
#define HEWN_FUSE_PASSES

include "mlir/Pass/PassBase.td"

def DecideGroupsPass : Pass<"hewn-decide-groups", "::mlir::func::FuncOp"> {
  let summary = "Say which ops become one kernel: writes `graph.in_group` and the reason on each";
  // It looks into the bodies of elementwise ops to see what they cost.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [Option<"fuse", "fuse", "bool", "true", "Put ops together; without it each op is a group of its own">];
}

def WidenAtReadersPass : Pass<"hewn-widen-at-readers", "::mlir::func::FuncOp"> {
  let summary = "Put ops that widen elements into the groups that read them";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TabulateCodesPass : Pass<"hewn-tabulate-codes", "::mlir::func::FuncOp"> {
  let summary = "Look up what a group makes of one integer of 8 bits where that is faster than to compute it";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect"];
}

def QuantizeByReciprocalPass : Pass<"hewn-quantize-by-reciprocal", "::mlir::func::FuncOp"> {
  let summary = "Quantize by products where these give the integers that the division gives";
}

def ReduceDotsPass : Pass<"hewn-reduce-dots", "::mlir::func::FuncOp"> {
  let summary = "Make reductions of products of a matrix and a vector whose lines run along the sum";
}

def FormGroupsPass : Pass<"hewn-form-groups", "::mlir::func::FuncOp"> {
  let summary = "Wrap the ops of each group into a graph.group";
}

def OutlineKernelsPass : Pass<"hewn-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make each graph.group a plan.kernel and a plan.launch; equal kernels become one";
  let dependentDialects = ["::hewn::plan::PlanDialect"];
}

def ChooseTilesPass : Pass<"hewn-choose-tiles", "::mlir::ModuleOp"> {
  let summary = "Say by which tiles a grid's kernels multiply matrices, and into how many parts they cut sums";
}

def SplitKPass : Pass<"hewn-split-k", "::mlir::ModuleOp"> {
  let summary = "Make two kernels of one whose schedule cuts a sum into parts";
}

def KeepConstantsPass : Pass<"hewn-keep-constants", "::mlir::ModuleOp"> {
  let summary = "Say which constants a grid's kernels may keep on chip over the steps of a loop";
}

def VerifyKernelsPass : Pass<"hewn-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Check that no op that computes lies outside of a kernel";
}

#endif
