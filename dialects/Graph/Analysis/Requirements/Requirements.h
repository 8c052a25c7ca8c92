// SPDX-License-Identifier: Apache-2.0
//
// What dims must be where types and symbols leave it open.
//
// Every access of an op is inside of its tensor by type, by a requirement, or because it is guarded or clamped. `requirementsOf` is
// the one place where requirements come from: those of the op's kind (what is summed over is equally long on both sides), those
// that its own reads ask for (Accesses.h), and those that it states itself (RequiringOpInterface).
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_REQUIREMENTS_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_REQUIREMENTS_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

#include "dialects/Graph/GraphEnums.h.inc"

namespace hewn::graph {

/// On the function `main`: a list of RequirementAttr.
inline constexpr llvm::StringLiteral kRequiresAttr = "graph.requires";

/// What a run, or a compile, says where it does not hold; {a} and {b} stand for the two sizes.
llvm::StringRef requirementMessage(Relation relation);

struct Requirement {
  Relation relation;
  DimExpr left, right;
  bool operator==(const Requirement &other) const {
    return relation == other.relation && left == other.left && right == other.right;
  }
  /// Whether it holds where both sides are numbers; nullopt where one is not.
  std::optional<bool> known() const;
};

/// A list that grows by what is not true of all sizes.
class Requirements {
public:
  void equal(const DimExpr &a, const DimExpr &b);
  /// `a` is 1 or `b`.
  void broadcast(const DimExpr &a, const DimExpr &b);
  void atMost(const DimExpr &a, const DimExpr &b);
  void add(const Requirement &requirement);
  llvm::ArrayRef<Requirement> list() const { return entries; }

private:
  llvm::SmallVector<Requirement> entries;
};

/// What must hold for every access of the op to be inside of its tensors, and for its operands to be what it takes. Failure, with an
/// error, where that cannot be said: the op is of no kind and states nothing, or reads where nothing bounds it.
llvm::FailureOr<Requirements> requirementsOf(mlir::Operation *op);

/// Says it where the builder stands (graph.require_dims).
mlir::Operation *makeRequirement(mlir::OpBuilder &b, mlir::Location loc, const Requirement &requirement);
/// The same, unless it is true whatever the sizes are.
void require(mlir::OpBuilder &b, mlir::Location loc, Relation relation, const DimExpr &left, const DimExpr &right);
/// Whether the op does nothing but to say a requirement.
bool onlyStatesRequirement(mlir::Operation *op);

} // namespace hewn::graph

#include "dialects/Graph/Analysis/Requirements/RequirementsInterface.h.inc"

#endif
