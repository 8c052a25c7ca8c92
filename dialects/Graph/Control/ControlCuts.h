// SPDX-License-Identifier: Apache-2.0
//
// How control flow is cut: branches that make parts of their results, loops whose steps carry parts.
#ifndef HEWN_DIALECTS_GRAPH_CONTROL_CONTROLCUTS_H
#define HEWN_DIALECTS_GRAPH_CONTROL_CONTROLCUTS_H

#include "dialects/Graph/Analysis/Cuts.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <memory>

namespace hewn::graph {

/// How an op with regions (ControlOpInterface) makes one part of its results.
struct ControlCut {
  /// What the op and its regions read of outside of it, and what there is inside: how it is cut; nullopt: it is needed whole. What is not
  /// here is not needed.
  llvm::MapVector<mlir::Value, std::optional<Cut>> values;
  /// Of each result; nullopt: it is the same for all parts, and nobody reads it.
  llvm::SmallVector<std::optional<Cut>> results;
  /// Of ops in the regions: those that make a part of parts, and those with regions of their own.
  llvm::DenseMap<mlir::Operation *, CutForm> forms;
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<ControlCut>> inner;
  /// Ops in the regions that make a whole, of which each part takes its own.
  llvm::SmallPtrSet<mlir::Operation *, 4> wholes;
};

/// The form of a loop or of branches; `results` says how results are wanted, nullopt: nobody reads them. What decides which region runs, and how
/// often, is whole, and so must be what it is made of: items that depend on each other, or each of which would take other steps, have
/// no form. nullptr: there is none, nor where `op` is no control flow.
std::unique_ptr<ControlCut> controlCut(mlir::Operation *op, llvm::ArrayRef<std::optional<Cut>> results,
                                       const Parts &parts);

/// Writes the op that makes part `number`, of values of outside of it as `valueOf` gives them: parts or wholes. Null (after an error) where it
/// can't be built.
mlir::Operation *makeControlPart(mlir::OpBuilder &b, mlir::Operation *op, const ControlCut &cut, const Parts &parts,
                                 int64_t number, llvm::function_ref<mlir::Value(mlir::Value)> valueOf);

} // namespace hewn::graph

#endif
