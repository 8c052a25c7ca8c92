// SPDX-License-Identifier: Apache-2.0
//
// The cost of computing a value again at each use instead of storing it once. An op that is fused
// into a kernel's loop nest is evaluated for each element that its user reads. If an indexing op
// reads four elements for each element of its result, the op that produces its operand is evaluated
// four times; with two such indexing ops in sequence, sixteen times.
#ifndef HEWN_LIB_TRANSFORMS_FUSE_RECOMPUTE_H
#define HEWN_LIB_TRANSFORMS_FUSE_RECOMPUTE_H

#include "dialects/Graph/Analysis/Cost.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn {

class Recompute {
public:
  /// Returns true if the op is so expensive that it must not be evaluated twice in any case.
  bool isExpensive(mlir::Operation *op);

  /// Returns true if the kernel of `op` may compute `operand` at each read instead of loading it.
  /// `ops`, in program order, compute `operand`. The alternative is to compute the operand of every
  /// indexing op of `ops` once, with a store and a load.
  bool isProfitable(mlir::ArrayRef<mlir::Operation *> ops, mlir::Value operand, mlir::Operation *op);

private:
  /// How a cost estimate assumes that operands of indexing ops are evaluated: at each read, or
  /// once, with a store and a load.
  enum class Evaluated { WhereRead, Once };
  /// Returns the loads and operations to compute one element of `value` from the operands of `ops`.
  double costOf(mlir::ArrayRef<mlir::Operation *> ops, mlir::Value value, Evaluated evaluated);
  const graph::ElementCost &elementCost(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, graph::ElementCost> costs;
  llvm::DenseMap<mlir::Operation *, bool> expensive;
};

} // namespace hewn

#endif
