// SPDX-License-Identifier: Apache-2.0
//
// Maps the dims of values to the dims of a kernel's iteration space.
//
// A kernel generator that walks an iteration space keeps some values in registers (held values):
// the accumulators of a contraction, the results of row-wise reductions. It passes a held value to
// all of its users, regardless of the index at which they read it. Therefore, at each point of the
// space, every value computed from a held value must read it at the one index of that point. The
// analysis follows the ops from the held values to find the space dim of each dim; extents and
// ranks do not determine it:
//
//     %x: (i, j)                                the space
//     %m = reduce_max %x over j, dims not kept  (i)
//     %a = mul %m, %w                           (i)
//     %b = sub %m, %x                           dim 1 follows i because of %m, j because of %x:
//                                               a conflict: the two are not in one kernel
//
// A dim of 1 follows no space dim: its index is 0.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_SPACEMAP_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_SPACEMAP_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace hewn::graph {

class SpaceMap {
public:
  /// For each dim of a value, the number of the space dim that gives its index; kNone if the index
  /// is 0, or if any space dim would do.
  using Along = llvm::SmallVector<int64_t, 4>;
  static constexpr int64_t kNone = -1;

  /// Returns the iteration space of a kernel with these ops: the dims of the operand of its
  /// reductions, or else of the result of its contraction. Returns nullopt if there is neither, so
  /// that no value is held in registers and all values are computed where they are read.
  static std::optional<SpaceMap> spaceOf(llvm::ArrayRef<mlir::Operation *> ops);

  /// Adds an op, whose operands must have been added before. Returns false, and changes nothing, if
  /// the op would read a held value at several indices, or at an arbitrary index, for one point of
  /// the space.
  bool add(mlir::Operation *op);
  /// Returns true if `add` would accept the op.
  bool takes(mlir::Operation *op) const { return follow(op).has_value(); }
  /// Makes `value`, which must have the dims of the space, a held value. Must be called before the
  /// users of the value are added.
  void hold(mlir::Value value);

  /// The points of the iteration space to which the elements of a value belong: one element for
  /// each point (`wholeSpace`), or one element for each row, that is, for all points that differ
  /// only in reduced dims.
  struct Place {
    bool wholeSpace;
    /// For each dim of the value, the space dim that gives the index; kNone means index 0.
    Along along;
  };
  /// Returns the points of the iteration space at which a kernel writes the elements of `value`,
  /// the result of an op that has been added or could be. Returns nullopt if the value has neither
  /// one element per point nor one per row.
  std::optional<Place> placeOf(mlir::Value value) const;

private:
  SpaceMap(Dims space, llvm::SmallVector<int64_t> reduced) : space(std::move(space)), reduced(std::move(reduced)) {}
  /// Returns the mapping of the dims of the op's result. Returns an empty mapping if the op reads
  /// no held value, and nullopt if `add` must reject the op.
  std::optional<Along> follow(mlir::Operation *op) const;
  std::optional<Along> followElements(mlir::Operation *op) const;
  bool isReduced(size_t dim) const { return llvm::is_contained(reduced, int64_t(dim)); }
  /// Returns true if a value with the dims of the space and the mapping `along` has one element per
  /// point of the space.
  bool isWhole(llvm::ArrayRef<int64_t> along) const;

  Dims space;
  llvm::SmallVector<int64_t> reduced;
  /// The mapping of each held value, and of each value computed from held values.
  llvm::DenseMap<mlir::Value, Along> held;
};

/// Returns the values in the block that have these dims, and whose users all compute an element
/// only from the value's element at the same index.
llvm::DenseSet<mlir::Value> readAtOwnIndex(mlir::Block &block, llvm::ArrayRef<DimExpr> dims);

} // namespace hewn::graph

#endif
