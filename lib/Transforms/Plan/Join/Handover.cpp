// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Join/Handover.h"
#include "dialects/Graph/Analysis/Views.h"
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

PlaceAttr placeOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto places = result ? result.getOwner()->getAttrOfType<ArrayAttr>(kPlacesAttr) : ArrayAttr();
  bool isThere = places && result.getResultNumber() < places.size();
  return isThere ? dyn_cast<PlaceAttr>(places[result.getResultNumber()]) : PlaceAttr();
}

bool hasOffset(PlaceAttr place) {
  return !llvm::is_contained({"arena", "output", "slice", "piece"}, place.getKind()) ||
         DimExpr::fromAttr(place.getOffset());
}

LogicalResult verifyIsThere(PlaceAttr place, Operation *op) {
  std::optional<int64_t> index = hasOffset(place) ? 0 : std::optional<int64_t>();
  int64_t first = 0, end = 1;
  if (index && llvm::is_contained({"output", "slice"}, place.getKind())) {
    index = DimExpr::fromAttr(place.getOffset())->constant();
    auto scan = dyn_cast<graph::ScanOp>(op->getParentOp());
    bool isSlice = place.getKind() == "slice";
    first = isSlice && scan ? scan.getNumStates() : 0;
    end = !isSlice ? op->getParentOfType<func::FuncOp>().getNumResults() : scan ? scan->getNumResults() : 0;
  }
  if (index && *index >= first && *index < end)
    return success();
  return op->emitOpError("has a result at a place that is not there: ") << place;
}

std::optional<DimExpr> arenaOffset(Value value) {
  PlaceAttr place = placeOf(value);
  return place && place.getKind() == "arena" ? DimExpr::fromAttr(place.getOffset()) : std::nullopt;
}

/// Whether the expression is at least 0 for all symbols that are.
static bool isNeverNegative(const DimExpr &expr) {
  return llvm::all_of(expr.terms(), [](const DimExpr::Term &term) {
    return term.coefficient >= 0 && llvm::all_of(term.factors, [](const DimExpr::AtomRef &atom) {
             return !atom->name.empty() || (isNeverNegative(atom->lhs) && isNeverNegative(atom->rhs));
           });
  });
}

bool mayOverlap(const Span &a, const Span &b) {
  return !isNeverNegative(b.offset - a.offset - a.bytes) && !isNeverNegative(a.offset - b.offset - b.bytes);
}

/// Whether `fits` holds for each result that the scan's steps make and that may have bytes of the buffer at `span`.
static bool allThatOverlap(graph::ScanOp scan, const Span &span, llvm::function_ref<bool(Operation *, Span)> fits) {
  bool all = true;
  scan.getBody().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (std::optional<DimExpr> offset = arenaOffset(result)) {
        Span other{*offset, bufferBytes(result)};
        all &= !mayOverlap(other, span) || fits(op, other);
      }
  });
  return all;
}

/// Whether what has the buffer's bytes takes it over as it is.
static bool isUnshared(graph::ScanOp scan, const Span &span) {
  return allThatOverlap(scan, span, [&](Operation *op, Span other) {
    return other.offset == span.offset && other.bytes == span.bytes && op->getParentOp() == scan.getOperation() &&
           isa<LaunchOp>(op);
  });
}

static bool isUnused(graph::ScanOp scan, const Span &span) {
  return allThatOverlap(scan, span, [](Operation *, Span) { return false; });
}

std::optional<Handover> handover(graph::ScanOp scan, unsigned state) {
  Block &body = scan.getBody().front();
  Operation *yield = body.getTerminator();
  Value yielded = behindViews(yield->getOperand(state));
  if (yielded == body.getArgument(state))
    return Handover::Same;
  Operation *maker = yielded.getDefiningOp();
  PlaceAttr place = placeOf(yielded), home = placeOf(scan->getResult(state));
  DimExpr bytes = bufferBytes(scan->getResult(state));
  if (!home || home.getKind() == "dynamic" || bytes != bufferBytes(yielded))
    return std::nullopt;
  if (auto argument = dyn_cast<BlockArgument>(yielded); argument && argument.getOwner() == &body)
    return Handover::Copy;
  if (!maker || maker->getBlock() != &body || !isa<LaunchOp>(maker) || !place || place.getKind() == "dynamic")
    return std::nullopt;
  if (place.getKind() == "slice")
    return Handover::Slice;
  std::optional<DimExpr> own = arenaOffset(yielded);
  if (!own)
    return std::nullopt;
  if (place == home)
    return Handover::Place;
  if (!isUnshared(scan, {*own, bytes}))
    return Handover::Copy;
  if (std::optional<DimExpr> homeOffset = arenaOffset(scan->getResult(state)))
    if (!isUnused(scan, {*homeOffset, bytes}))
      return Handover::Copy;
  for (unsigned other = 0; other < unsigned(scan.getNumStates()); ++other)
    if (other != state && arenaOffset(behindViews(yield->getOperand(other))) == own)
      return Handover::Copy;
  return Handover::Turns;
}

PlaceAttr stagingOf(graph::ScanOp scan, unsigned state) {
  auto staging = scan->getAttrOfType<ArrayAttr>(kStagingAttr);
  return staging && state < staging.size() ? dyn_cast<PlaceAttr>(staging[state]) : PlaceAttr();
}

} // namespace hewn::plan
