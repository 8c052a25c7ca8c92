// SPDX-License-Identifier: Apache-2.0
//
// Requirements: conditions on dims that are not implied by types and symbols, and that are checked
// before a run.
//
// Every access of an op is in bounds because of its types, because of a requirement, or because the
// op guards or clamps it. `requirementsOf` collects the requirements from three sources: the op
// interface (for example, that the K dims of both operands are equal), the reads (Accesses.h), and
// the op itself (RequiringOpInterface).
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_REQUIREMENTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_REQUIREMENTS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Graph/GraphEnums.h.inc"

namespace hewn::graph {

/// Attribute of the function `main`: its requirements, a list of RequirementAttr.
inline constexpr llvm::StringLiteral kRequiresAttr = "graph.requires";

/// Returns the text of the error for a violated requirement. {a} and {b} are placeholders for the
/// values of its left and right side.
llvm::StringRef requirementMessage(Relation relation);

struct Requirement {
  Relation relation;
  DimExpr left, right;
  bool operator==(const Requirement &other) const {
    return relation == other.relation && left == other.left && right == other.right;
  }
  /// Returns whether the requirement holds if its left and right side are constants, else nullopt.
  std::optional<bool> known() const;
};

/// A list of requirements. Requirements that hold for all sizes are not added.
class Requirements {
public:
  void equal(const DimExpr &a, const DimExpr &b);
  /// Requires that `a` is 1 or equal to `b`.
  void broadcast(const DimExpr &a, const DimExpr &b);
  void atMost(const DimExpr &a, const DimExpr &b);
  /// Requires that no 0 in a shape means "copy the dim of the input". `copies` is the number of
  /// those that do.
  void noCopy(const DimExpr &copies);
  void add(const Requirement &requirement);
  llvm::ArrayRef<Requirement> list() const { return entries; }

private:
  llvm::SmallVector<Requirement> entries;
};

/// Returns the conditions under which every access of the op is in bounds and its operands are
/// valid. Emits an error and fails if the conditions cannot be derived, because the op has a read
/// without known bounds, or has no op interface and states no requirements.
llvm::FailureOr<Requirements> requirementsOf(mlir::Operation *op);

/// Emits a graph.require_dims op, which checks the requirement before a run.
mlir::Operation *makeRequirement(mlir::OpBuilder &b, mlir::Location loc, const Requirement &requirement);
/// Emits a graph.require_dims op unless the requirement holds for all sizes.
void require(mlir::OpBuilder &b, mlir::Location loc, Relation relation, const DimExpr &left, const DimExpr &right);
/// Returns true if the op has no effect but to state a requirement.
bool onlyStatesRequirement(mlir::Operation *op);

} // namespace hewn::graph

#include "dialects/Graph/Analysis/Requirements/RequirementsInterface.h.inc"

#endif
