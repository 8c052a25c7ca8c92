// SPDX-License-Identifier: Apache-2.0
//
// The dim requirements that a function already checks, at its start and before single ops.
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_REQUIRED_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_REQUIRED_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace hewn {

class Required {
public:
  /// Reads the function's attribute `graph.requires`, the checks at the start of a run.
  explicit Required(mlir::func::FuncOp function);

  /// Returns true if the types imply the dim requirement, or if the function checks it before `op`
  /// runs.
  bool holds(mlir::Operation *op, const graph::Requirement &requirement) const;
  /// Returns true if a dim requirement of `op` can be checked at the start of a run. Its symbols
  /// must be defined by the function's arguments, and every run must execute `op`.
  bool isKnownAtStart(mlir::Operation *op, const graph::Requirement &requirement) const;

  void addAtStart(mlir::Operation *op, const graph::Requirement &requirement);
  /// Records that the op `check`, which precedes `op`, checks the dim requirement.
  void addBefore(mlir::Operation *op, const graph::Requirement &requirement, mlir::Operation *check);
  /// Writes the collected checks to the function's attribute `graph.requires`.
  void write();

private:
  mlir::func::FuncOp function;
  llvm::StringSet<> symbols;                // symbols of the function's arguments
  llvm::SetVector<mlir::Attribute> entries; // entries of `graph.requires`
  llvm::StringSet<> texts;                  // the text of each entry
  // For each block, the first check of each requirement, by the requirement's text.
  llvm::DenseMap<mlir::Block *, llvm::StringMap<mlir::Operation *>> checks;
};

} // namespace hewn

#endif
