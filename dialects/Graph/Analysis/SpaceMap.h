// SPDX-License-Identifier: Apache-2.0
//
// How dims of values lie along the dims of a kernel's iteration space.
//
// An engine that walks a space holds values: the sums of a contraction, the results of the reductions of a row. It hands what it holds
// to all who read it, whatever index they read at. So at each point of the space, everything that is made of a held value must read
// it at the one index that belongs there. Which dim of the space each dim of such a value runs along is found by following the ops
// from what is held; extents and ranks say nothing of it:
//
//     %x: (i, j)                                    the space
//     %m = reduce_max %x over j, dims not kept      (i)
//     %a = mul %m, %w                               (i)
//     %b = sub %m, %x                               dim 1 runs along i because of %m, where it is an element of (i, j): no index
//                                                   fits, so the two are not in one kernel
//
// A dim of 1 runs along none: its index is 0.
#ifndef HEWN_DIALECTS_GRAPH_ANALYSIS_SPACEMAP_H
#define HEWN_DIALECTS_GRAPH_ANALYSIS_SPACEMAP_H

#include "dialects/Graph/Analysis/Dims.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace hewn::graph {

class SpaceMap {
public:
  /// For each dim of a value the dim of the space that it runs along; kNone: none, or whichever is asked for.
  using Along = llvm::SmallVector<int64_t, 4>;
  static constexpr int64_t kNone = -1;

  /// The space that a kernel of these ops is walked over: that of its reductions' operand, else of its contraction's result; nullopt:
  /// its values are computed where they are read, and nothing is held.
  static std::optional<SpaceMap> spaceOf(llvm::ArrayRef<mlir::Operation *> ops);

  /// Takes in an op, behind those whose results it reads; false: nothing is changed, since it would read what is held at different
  /// indices for one point, or at any.
  bool add(mlir::Operation *op);
  /// Whether `add` would.
  bool takes(mlir::Operation *op) const { return follow(op).has_value(); }
  /// From now on the value, of the space's dims, is held as well; before what reads it is added.
  void hold(mlir::Value value);

  /// An element a point of the space, or one a row of it, that is one for all points that differ in reduced dims alone.
  struct Place {
    bool wholeSpace;
    /// The index of the element in the space's; kNone: 0.
    Along along;
  };
  /// Where a result of an op that was added, or that `takes`, is written; nullopt: its elements are neither.
  std::optional<Place> placeOf(mlir::Value value) const;

private:
  SpaceMap(Dims space, llvm::SmallVector<int64_t> reduced) : space(std::move(space)), reduced(std::move(reduced)) {}
  /// Of the results of `op`; empty where it reads nothing that is held. nullopt: it has none.
  std::optional<Along> follow(mlir::Operation *op) const;
  std::optional<Along> followElements(mlir::Operation *op) const;
  bool isReduced(size_t dim) const { return llvm::is_contained(reduced, int64_t(dim)); }
  /// Whether a value of the space's dims that runs so has its elements at the points themselves.
  bool isWhole(llvm::ArrayRef<int64_t> along) const;

  Dims space;
  llvm::SmallVector<int64_t> reduced;
  /// The values that are held, and all that are made of them.
  llvm::DenseMap<mlir::Value, Along> held;
};

/// The block's values of these dims of which an element is read for elements at its own index alone.
llvm::DenseSet<mlir::Value> readAtOwnIndex(mlir::Block &block, llvm::ArrayRef<DimExpr> dims);

} // namespace hewn::graph

#endif
