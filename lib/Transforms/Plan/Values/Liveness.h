// SPDX-License-Identifier: Apache-2.0
//
// Lifetimes of the buffers of a program.
//
// Ops are numbered in program order; an op with regions has a number before and another after its
// regions. A buffer lives from its op to its last use through any alias. If a loop uses a buffer
// from outside of the loop, the buffer lives until the end of the loop, because the next step uses
// it again. Both branches of an If count as executed.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_VALUES_LIVENESS_H
#define HEWN_LIB_TRANSFORMS_PLAN_VALUES_LIVENESS_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"

namespace hewn::plan {

/// A buffer's lifetime: its first and last position in the program, both inclusive.
struct Lifetime {
  unsigned begin, end;
  bool overlaps(const Lifetime &other) const { return begin <= other.end && other.begin <= end; }
};

class Liveness {
public:
  explicit Liveness(mlir::FunctionOpInterface program);
  /// Returns the lifetime of every result that owns a buffer, in program order.
  const llvm::MapVector<mlir::Value, Lifetime> &lifetimes() const { return lives; }
  /// Returns the interval from the end of the loop body to the end of the loop. In it, carried
  /// values are passed to the next step.
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
