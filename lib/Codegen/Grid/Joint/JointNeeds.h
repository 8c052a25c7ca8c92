// SPDX-License-Identifier: Apache-2.0
//
// Where the blocks of a joint kernel have to wait for each other: before a part that reads what another one has written since the
// last time, or writes what it has read or written. What a part does is known by the places of its operands and results.
#ifndef HEWN_LIB_CODEGEN_GRID_JOINT_JOINTNEEDS_H
#define HEWN_LIB_CODEGEN_GRID_JOINT_JOINTNEEDS_H

#include "lib/Transforms/Plan/Join/Handover.h"
#include "llvm/ADT/DenseSet.h"

namespace hewn::codegen {

/// A part of a joint kernel: a launch, or copies of a loop's states: before its first step, behind its last one, and when a step ends.
struct JointPart {
  enum Kind { Launch, Enter, Leave, Hand };
  mlir::Operation *op;
  Kind kind;
};

/// The states of a loop that begin as a copy, and those that are copied to their places in the end.
bool beginsAsCopy(graph::ControlOpInterface loop, unsigned state);
bool endsAsCopy(graph::ControlOpInterface loop, unsigned state, llvm::ArrayRef<mlir::Operation *> joint);

class JointNeeds {
public:
  explicit JointNeeds(llvm::ArrayRef<mlir::Operation *> ops);
  /// Whether all blocks meet before the part.
  bool hasBarrierBefore(JointPart part) const { return gridBarriers.contains({part.op, int(part.kind)}); }
  size_t count() const { return gridBarriers.size(); }

private:
  /// Memory: the arena, or what is named by an output or a value. No bytes: all of it.
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
  void visit(JointPart part, const Accesses &accesses, Accesses &pending);
  void add(Accesses &list, mlir::Value value, bool writes);
  Places placesOf(mlir::Value value);
  Places placesOfState(graph::ControlOpInterface loop, unsigned state);
  Places placesOfResult(mlir::OpResult result);

  llvm::ArrayRef<mlir::Operation *> ops;
  llvm::DenseSet<std::pair<mlir::Operation *, int>> gridBarriers;
};

} // namespace hewn::codegen

#endif
