// SPDX-License-Identifier: Apache-2.0
//
// From when to when each buffer of a program is needed.
//
// Ops are numbered in the order of the text, an op with regions before and after them. A buffer lives from its op to
// its last use through any alias; a use inside a loop of a buffer from outside lasts to the loop's end, since the next
// step uses it again. Branches count as if both ran.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_VALUES_LIVENESS_H
#define HEWN_LIB_TRANSFORMS_PLAN_VALUES_LIVENESS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace hewn::plan {

/// Positions, both included.
struct Lifetime {
  unsigned begin, end;
  bool overlaps(const Lifetime &other) const { return begin <= other.end && other.begin <= end; }
};

class Liveness {
public:
  explicit Liveness(mlir::FunctionOpInterface program);
  /// Every result that owns a buffer, in program order.
  const llvm::MapVector<mlir::Value, Lifetime> &lifetimes() const { return lives; }
  /// From the end of a region's steps to the end of its op: when carried values are handed on.
  Lifetime handOver(mlir::Operation *loop) const;

private:
  void number(mlir::Block &block);
  void use(mlir::Operation *user, mlir::Value value);
  void keepInitialValues(mlir::FunctionOpInterface program);

  struct Positions {
    unsigned begin, end;
  };
  llvm::DenseMap<mlir::Operation *, Positions> positions;
  llvm::MapVector<mlir::Value, Lifetime> lives;
  unsigned next = 0;
};

} // namespace hewn::plan

#endif
