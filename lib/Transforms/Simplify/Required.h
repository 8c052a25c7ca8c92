// SPDX-License-Identifier: Apache-2.0
//
// The requirements that a function already looks at: when it begins, and before its ops.
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_REQUIRED_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_REQUIRED_H

#include "dialects/Graph/Analysis/Requirements/Requirements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace hewn {

class Required {
public:
  /// Reads `graph.requires`.
  explicit Required(mlir::func::FuncOp function);

  /// Whether it is true of these sizes, or looked at before `op` runs.
  bool holds(mlir::Operation *op, const graph::Requirement &requirement) const;
  /// Whether it can be looked at when a run begins: its symbols have values, and the op runs in every run.
  bool isKnownAtStart(mlir::Operation *op, const graph::Requirement &requirement) const;

  void addAtStart(mlir::Operation *op, const graph::Requirement &requirement);
  /// `check` stands before `op`.
  void addBefore(mlir::Operation *op, const graph::Requirement &requirement, mlir::Operation *check);
  /// Writes `graph.requires`.
  void write();

private:
  mlir::func::FuncOp function;
  llvm::StringSet<> symbols;                                                // of the function's arguments
  llvm::SetVector<mlir::Attribute> entries;                                 // as the attribute has them
  llvm::StringSet<> texts;                                                  // of those
  llvm::DenseMap<mlir::Block *, llvm::StringMap<mlir::Operation *>> checks; // by block: the first check of each text
};

} // namespace hewn

#endif
