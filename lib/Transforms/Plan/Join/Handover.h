// SPDX-License-Identifier: Apache-2.0
//
// How a counted loop inside of a persistent kernel passes its loop-carried values (states) from
// step to step.
//
// If the host runs the loop, it copies each state's next value to the state's buffer after every
// step. Inside of a kernel, such a copy needs another grid-wide barrier, so copies are avoided
// where possible.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_JOIN_HANDOVER_H
#define HEWN_LIB_TRANSFORMS_PLAN_JOIN_HANDOVER_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

enum class Handover {
  /// Each step writes the state into its slice of an output, and the next step reads the state
  /// there.
  Slice,
  /// Each step writes the next state into a second buffer that has no other use. The second buffer
  /// and the state's own buffer alternate from step to step.
  DoubleBuffer,
  /// Each step writes the next state directly into the state's own buffer.
  InPlace,
  /// Each step forwards the state unchanged, so nothing is written.
  Forward,
  /// The next state is copied to the state's buffer after each step, as the host would do. Needed
  /// if the next state is the current value of another state, or if buffers overlap.
  Copy,
};

/// Returns how loop-carried value number `state` passes from step to step inside of a persistent
/// kernel. Returns nothing if a kernel cannot pass it.
std::optional<Handover> handover(graph::ControlOpInterface loop, unsigned state);
/// Returns the staging buffer of a state that is copied after each step, or null if it has none. A
/// state is staged if another state still has to read its current value before the copy overwrites
/// it.
BufferAttr stagingOf(graph::ControlOpInterface loop, unsigned state);

/// Returns the value that `value` is a view of, or `value` itself if it is no view.
mlir::Value behindViews(mlir::Value value);
/// Returns the buffer assignment of a result, or null.
BufferAttr placeOf(mlir::Value value);
/// Verifies that the buffer assigned to a result of the op exists (an output of the program, or a
/// sequence of the directly enclosing scan). Reports an error at the op otherwise.
llvm::LogicalResult verifyIsThere(BufferAttr place, mlir::Operation *op);
/// Returns the arena offset of a result, or nothing if it is not in the arena.
std::optional<graph::DimExpr> arenaOffset(mlir::Value value);

/// A byte range of the arena: `size` bytes from `offset` on.
struct Span {
  graph::DimExpr offset, bytes;
};
/// Returns true if the two spans may overlap, for any symbol values that are not negative.
bool mayOverlap(const Span &a, const Span &b);

} // namespace hewn::plan

#endif
