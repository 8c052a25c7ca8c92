// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Join/Handover.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

Value behindViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!graph::isViewKind(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

BufferAttr placeOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto places = result ? result.getOwner()->getAttrOfType<ArrayAttr>(kBuffersAttr) : ArrayAttr();
  bool isThere = places && result.getResultNumber() < places.size();
  return isThere ? dyn_cast<BufferAttr>(places[result.getResultNumber()]) : BufferAttr();
}

/// Returns true if the assigned buffer exists: it is an output of the program, or a sequence that
/// the directly enclosing counted loop produces.
static bool isThere(BufferAttr place, Operation *op) {
  if (place.getKind() != BufferKind::Output && place.getKind() != BufferKind::Slice)
    return true;
  std::optional<int64_t> index = place.getOffset()->constant();
  if (place.getKind() == BufferKind::Output)
    return index && *index >= 0 && *index < int64_t(op->getParentOfType<func::FuncOp>().getNumResults());
  graph::ControlOpInterface loop = graph::countedLoopOf(op->getParentOp());
  return loop && llvm::any_of(loop.getStackedValues(), [&](const graph::StackedValue &stacked) {
           return int64_t(stacked.result.getResultNumber()) == index;
         });
}

LogicalResult verifyIsThere(BufferAttr place, Operation *op) {
  if (isThere(place, op))
    return success();
  return op->emitOpError("has a result in an output or sequence that does not exist: ") << place;
}

std::optional<DimExpr> arenaOffset(Value value) {
  BufferAttr place = placeOf(value);
  return place && place.getKind() == BufferKind::Arena ? place.getOffset() : std::nullopt;
}

/// Returns true if the value of the expression is at least 0 for all symbol values of at least 0.
static bool isKnownNonNegative(const DimExpr &expr) {
  return llvm::all_of(expr.terms(), [](const DimExpr::Term &term) {
    return term.coefficient >= 0 && llvm::all_of(term.factors, [](const DimExpr::AtomRef &atom) {
             return !atom->name.empty() || (isKnownNonNegative(atom->lhs) && isKnownNonNegative(atom->rhs));
           });
  });
}

bool mayOverlap(const Span &a, const Span &b) {
  return !isKnownNonNegative(b.offset - a.offset - a.bytes) && !isKnownNonNegative(a.offset - b.offset - b.bytes);
}

/// Returns true if `fits` holds for every op result in the loop body whose arena buffer may overlap
/// the byte range `span`.
static bool allOverlapping(graph::ControlOpInterface loop, const Span &span,
                           llvm::function_ref<bool(Operation *, Span)> fits) {
  bool all = true;
  loop.getLoopBody().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (std::optional<DimExpr> offset = arenaOffset(result)) {
        Span other{*offset, bufferBytes(result)};
        all &= !mayOverlap(other, span) || fits(op, other);
      }
  });
  return all;
}

/// Returns true if, in the loop body, only launches whose result has exactly the byte range `span`
/// of the arena use any of its bytes.
static bool isExclusive(graph::ControlOpInterface loop, const Span &span) {
  return allOverlapping(loop, span, [&](Operation *op, Span other) {
    return other.offset == span.offset && other.bytes == span.bytes && op->getParentOp() == loop.getOperation() &&
           isa<LaunchOp>(op);
  });
}

static bool isUnused(graph::ControlOpInterface loop, const Span &span) {
  return allOverlapping(loop, span, [](Operation *, Span) { return false; });
}

std::optional<Handover> handover(graph::ControlOpInterface loop, unsigned state) {
  Block &body = loop.getLoopBody();
  SmallVector<graph::CarriedValue> states = loop.getCarriedValues();
  OpResult result = states[state].result;
  Value yielded = behindViews(states[state].next);
  if (yielded == states[state].argument)
    return Handover::Forward;
  Operation *maker = yielded.getDefiningOp();
  BufferAttr place = placeOf(yielded), home = placeOf(result);
  DimExpr bytes = bufferBytes(result);
  if (!home || home.getKind() == BufferKind::Dynamic || bytes != bufferBytes(yielded))
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(yielded); argument && argument.getOwner() == &body)
    return Handover::Copy;
  if (!maker || maker->getBlock() != &body || !isa<LaunchOp>(maker) || !place || place.getKind() == BufferKind::Dynamic)
    return std::nullopt;
  if (place.getKind() == BufferKind::Slice)
    return Handover::Slice;
  std::optional<DimExpr> own = arenaOffset(yielded);
  if (!own)
    return std::nullopt;
  if (place == home)
    return Handover::InPlace;
  if (!isExclusive(loop, {*own, bytes}))
    return Handover::Copy;
  if (std::optional<DimExpr> homeOffset = arenaOffset(result))
    if (!isUnused(loop, {*homeOffset, bytes}))
      return Handover::Copy;
  for (auto [i, other] : llvm::enumerate(states))
    if (i != state && arenaOffset(behindViews(other.next)) == own)
      return Handover::Copy;
  return Handover::DoubleBuffer;
}

BufferAttr stagingOf(graph::ControlOpInterface loop, unsigned state) {
  auto staging = loop->getAttrOfType<ArrayAttr>(kStagingAttr);
  return staging && state < staging.size() ? dyn_cast<BufferAttr>(staging[state]) : BufferAttr();
}

} // namespace hewn::plan
