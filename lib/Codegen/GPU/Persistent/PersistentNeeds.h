// SPDX-License-Identifier: Apache-2.0
//
// Determines where the blocks of a persistent kernel need grid-wide barriers: before a phase that
// reads memory which an earlier phase has written since the last barrier, or that writes memory
// which an earlier phase has read or written since then. The accesses of a phase follow from the
// buffers of its operands and results.
#ifndef HEWN_LIB_CODEGEN_GPU_JOINT_JOINTNEEDS_H
#define HEWN_LIB_CODEGEN_GPU_JOINT_JOINTNEEDS_H

#include "lib/Transforms/Plan/Join/Handover.h"
#include "llvm/ADT/DenseSet.h"

namespace hewn::codegen {

/// A phase of a persistent kernel: a launch, or copies of loop-carried values before the first step
/// (Enter), after the last step (Leave), or at the end of a step (Hand).
struct PersistentPhase {
  enum Kind { Launch, Enter, Leave, Hand };
  mlir::Operation *op;
  Kind kind;
};

/// Return true if the loop-carried value number `state` is copied to its own buffer before the loop
/// (beginsAsCopy), or after the loop (endsAsCopy).
bool beginsAsCopy(graph::ControlOpInterface loop, unsigned state);
bool endsAsCopy(graph::ControlOpInterface loop, unsigned state, llvm::ArrayRef<mlir::Operation *> persistent);

class PersistentNeeds {
public:
  explicit PersistentNeeds(llvm::ArrayRef<mlir::Operation *> ops);
  /// Returns true if all blocks must wait for each other before the phase.
  bool hasBarrierBefore(PersistentPhase part) const { return gridBarriers.contains({part.op, int(part.kind)}); }
  size_t count() const { return gridBarriers.size(); }

private:
  /// A memory range: a span of the arena, or memory that `space` identifies, such as that of an
  /// output. Without a span, the range is all of that memory.
  struct Place {
    const void *space;
    std::optional<plan::Span> span;
  };
  using Places = llvm::SmallVector<Place, 2>;
  struct Access {
    Place place;
    bool writes;
  };
  using Accesses = llvm::SmallVector<Access>;

  void walk(llvm::ArrayRef<mlir::Operation *> ops, Accesses &pending);
  void walkLoop(graph::ControlOpInterface loop, Accesses &pending);
  void visit(PersistentPhase part, const Accesses &accesses, Accesses &pending);
  void add(Accesses &list, mlir::Value value, bool writes);
  Places placesOf(mlir::Value value);
  Places placesOfState(graph::ControlOpInterface loop, unsigned state);
  Places placesOfResult(mlir::OpResult result);

  llvm::ArrayRef<mlir::Operation *> ops;
  llvm::DenseSet<std::pair<mlir::Operation *, int>> gridBarriers;
};

} // namespace hewn::codegen

#endif
