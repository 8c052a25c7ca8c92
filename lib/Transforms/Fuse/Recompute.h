// SPDX-License-Identifier: Apache-2.0
//
// What it costs to compute values where they are read instead of once. An op in a kernel's one nest of loops is evaluated for each
// element that is asked of it: behind a move that reads four elements for one, four times, and behind two of these sixteen times.
#ifndef HEWN_LIB_TRANSFORMS_FUSE_RECOMPUTE_H
#define HEWN_LIB_TRANSFORMS_FUSE_RECOMPUTE_H

#include "dialects/Graph/Analysis/Cost.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace hewn {

class Recompute {
public:
  /// Whether evaluating the op twice is a waste by itself.
  bool isExpensive(mlir::Operation *op);

  /// Whether `op` may read `operand`, which `ops` (in program order) make, by computing it: where that takes not much more than to
  /// compute it, and all that moves of `ops` read, once, write it to memory and read it from there.
  bool isProfitable(mlir::ArrayRef<mlir::Operation *> ops, mlir::Value operand, mlir::Operation *op);

private:
  /// How what moves read is evaluated: where they read it, or once and through memory.
  enum class Evaluated { WhereRead, Once };
  /// What one element of `value` takes, by loads and operations, of which `ops` make all that they can.
  double costOf(mlir::ArrayRef<mlir::Operation *> ops, mlir::Value value, Evaluated evaluated);
  const graph::ElementCost &elementCost(mlir::Operation *op);

  llvm::DenseMap<mlir::Operation *, graph::ElementCost> costs;
  llvm::DenseMap<mlir::Operation *, bool> expensive;
};

} // namespace hewn

#endif
