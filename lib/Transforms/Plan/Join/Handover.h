// SPDX-License-Identifier: Apache-2.0
//
// How a counted loop that runs inside of one kernel hands its states, which are its carried values, from step to step.
//
// Where the host runs the steps, a state is copied to its place when a step ends. Inside of a kernel a copy is one more thing to
// wait for, so what moves is where the state is, wherever that can be.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_JOIN_HANDOVER_H
#define HEWN_LIB_TRANSFORMS_PLAN_JOIN_HANDOVER_H

#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"

namespace hewn::plan {

enum class Handover {
  /// A step makes it in its slice of an output: the next one reads it there.
  Slice,
  /// A step makes it in a buffer of its own, which nobody else uses: it and the state's place take turns.
  DoubleBuffer,
  /// A step makes it in the state's place.
  InPlace,
  /// A step gives it on as it is.
  Forward,
  /// It is copied to the state's place when a step ends, as the host would: another state becomes this one, or memory is shared.
  Copy,
};

/// How the state moves, by its number among the loop's carried values; nullopt: it can't inside of a kernel.
std::optional<Handover> handover(graph::ControlOpInterface loop, unsigned state);
/// The place through which a state that is copied goes, so that the next value of another one can be read before; null: none.
PlaceAttr stagingOf(graph::ControlOpInterface loop, unsigned state);

/// The value behind views.
mlir::Value behindViews(mlir::Value value);
/// The place of a result; null: it has none.
PlaceAttr placeOf(mlir::Value value);
/// Whether what a result of the op is placed in is there: an output of the program, a sequence that the scan right around makes. An error
/// of the op otherwise.
llvm::LogicalResult verifyIsThere(PlaceAttr place, mlir::Operation *op);
/// The offset of a result in the arena; nullopt: it is not there.
std::optional<graph::DimExpr> arenaOffset(mlir::Value value);

/// Bytes from `offset` on.
struct Span {
  graph::DimExpr offset, bytes;
};
/// Whether the two may have bytes in common; symbols are of any size from 0 on.
bool mayOverlap(const Span &a, const Span &b);

} // namespace hewn::plan

#endif
