// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/GPU/Persistent/PersistentNeeds.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Transforms/Plan/Join/PersistentCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::plan::Handover;

namespace hewn::codegen {

bool beginsAsCopy(graph::ControlOpInterface loop, unsigned state) {
  // Copy the initial value of a loop-carried value before the loop, because its buffer may be
  // overwritten during the loop. The buffers of constants and program inputs are not overwritten;
  // these are copied only if the loop updates the value in place or by a copy.
  Value initial = plan::behindViews(loop.getCarriedValues()[state].initial);
  auto argument = dyn_cast<BlockArgument>(initial);
  bool stays = (argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())) ||
               isa_and_nonnull<graph::ConstantOp>(initial.getDefiningOp());
  std::optional<Handover> how = plan::handover(loop, state);
  return !stays || how == Handover::InPlace || how == Handover::Copy;
}

/// Returns the arena spans in which the loop-carried value may be after the loop, other than its
/// own buffer: that of the next value after an odd number of steps with double buffering, and that
/// of the initial value after no step.
static SmallVector<plan::Span> lastSpans(graph::ControlOpInterface loop, unsigned number) {
  graph::CarriedValue state = loop.getCarriedValues()[number];
  SmallVector<plan::Span> spans;
  for (Value value : {plan::behindViews(state.next), plan::behindViews(state.initial)})
    if (std::optional<DimExpr> offset = plan::arenaOffset(value); offset && *offset != plan::arenaOffset(state.result))
      spans.push_back({*offset, plan::bufferBytes(value)});
  return spans;
}

/// Returns true if ops after the loop may overwrite the spans. This is possible because the memory
/// plan keeps only the value's own buffer alive after the loop.
static bool areWrittenBehind(graph::ControlOpInterface loop, ArrayRef<plan::Span> spans,
                             ArrayRef<Operation *> persistent) {
  auto overlaps = [&](const DimExpr &offset, const DimExpr &bytes) {
    return llvm::any_of(spans, [&](const plan::Span &span) { return plan::mayOverlap(span, {offset, bytes}); });
  };
  auto writes = [&](Operation *op) {
    if (loop->isProperAncestor(op) || graph::isViewKind(op))
      return WalkResult::skip();
    for (OpResult result : op->getResults())
      if (std::optional<DimExpr> offset = plan::arenaOffset(result); offset && op != loop.getOperation())
        if (overlaps(*offset, plan::bufferBytes(result)))
          return WalkResult::interrupt();
    if (graph::ControlOpInterface other = graph::countedLoopOf(op))
      for (unsigned i = 0; i < other.getCarriedValues().size(); ++i)
        if (plan::BufferAttr staging = plan::stagingOf(other, i))
          if (overlaps(*staging.getOffset(), plan::bufferBytes(other.getCarriedValues()[i].result)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  };
  return llvm::any_of(persistent, [&](Operation *op) {
    bool isBefore = op->getBlock() == loop->getBlock() && op->isBeforeInBlock(loop);
    return !isBefore && op->walk<WalkOrder::PreOrder>(writes).wasInterrupted();
  });
}

bool endsAsCopy(graph::ControlOpInterface loop, unsigned state, ArrayRef<Operation *> persistent) {
  std::optional<Handover> how = plan::handover(loop, state);
  if (how == Handover::InPlace || how == Handover::Copy || (how == Handover::Forward && beginsAsCopy(loop, state)))
    return false;
  Value result = loop.getCarriedValues()[state].result;
  if (!result.use_empty() && areWrittenBehind(loop, lastSpans(loop, state), persistent))
    return true;
  SmallVector<Value> values = {result};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      bool inside = llvm::any_of(persistent, [&](Operation *op) { return op->isAncestor(user); });
      // Copy the loop's result to its own buffer: a later loop that starts with it, and the end of
      // a step of an enclosing loop, expect it there.
      if (!inside || isa<graph::YieldOp>(user))
        return true;
      if (graph::isViewKind(user))
        values.push_back(user->getResult(0));
    }
  }
  return false;
}

namespace {
/// The addresses of these constants identify memory that is not the buffer of a single value: the
/// arena, unknown memory, and the counters.
const char arenaSpace = 0, anySpace = 0, counterSpace = 0;
} // namespace

PersistentNeeds::PersistentNeeds(ArrayRef<Operation *> ops) : ops(ops) {
  Accesses pending;
  walk(ops, pending);
}

PersistentNeeds::Places PersistentNeeds::placesOfResult(OpResult result) {
  plan::BufferAttr place = plan::placeOf(result);
  if (std::optional<DimExpr> offset = plan::arenaOffset(result))
    return {{&arenaSpace, plan::Span{*offset, plan::bufferBytes(result)}}};
  if (place && place.getKind() == plan::BufferKind::Output)
    return {{place.getAsOpaquePointer(), std::nullopt}};
  if (place && place.getKind() == plan::BufferKind::Slice)
    if (std::optional<int64_t> index = place.getOffset()->constant())
      return placesOf(result.getOwner()->getParentOp()->getResult(unsigned(*index)));
  if (place && place.getKind() == plan::BufferKind::Dynamic)
    return {{result.getAsOpaquePointer(), std::nullopt}};
  return {{&anySpace, std::nullopt}};
}

PersistentNeeds::Places PersistentNeeds::placesOfState(graph::ControlOpInterface loop, unsigned number) {
  graph::CarriedValue state = loop.getCarriedValues()[number];
  Places places = placesOfResult(state.result);
  // A loop-carried value that is copied in each step is in its own buffer from before the first
  // step on.
  if (plan::handover(loop, number) == Handover::Copy)
    return places;
  llvm::append_range(places, placesOf(state.initial));
  if (auto made = dyn_cast<OpResult>(plan::behindViews(state.next)))
    llvm::append_range(places, placesOfResult(made));
  return places;
}

PersistentNeeds::Places PersistentNeeds::placesOf(Value value) {
  value = plan::behindViews(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (isa<func::FuncOp>(parent)) // program inputs need no barrier: no kernel writes to them
      return {};
    graph::ControlOpInterface loop = graph::countedLoopOf(parent);
    if (std::optional<unsigned> state = loop ? loop.findCarried(argument) : std::nullopt)
      return placesOfState(loop, *state);
    Value sequence = loop ? loop.findSequence(argument) : Value();
    return sequence ? placesOf(sequence) : Places{{&anySpace, std::nullopt}};
  }
  Operation *op = value.getDefiningOp();
  if (isa<graph::ConstantOp>(op))
    return {};
  auto result = cast<OpResult>(value);
  graph::ControlOpInterface loop = graph::countedLoopOf(op);
  if (std::optional<unsigned> state = loop ? loop.findCarried(result) : std::nullopt)
    return placesOfState(loop, *state);
  Places places = placesOfResult(result);
  // The two buffers of a double-buffered value are exchanged in every step. A result that shares
  // the memory of the next value may therefore be in the loop-carried value's own buffer.
  if (graph::ControlOpInterface around = graph::countedLoopOf(op->getParentOp()))
    for (auto [i, state] : llvm::enumerate(around.getCarriedValues()))
      if (plan::handover(around, unsigned(i)) == Handover::DoubleBuffer &&
          plan::arenaOffset(plan::behindViews(state.next)) == plan::arenaOffset(result))
        llvm::append_range(places, placesOfResult(state.result));
  return places;
}

void PersistentNeeds::add(Accesses &list, Value value, bool writes) {
  for (const Place &place : placesOf(value))
    list.push_back({place, writes});
}

void PersistentNeeds::visit(PersistentPhase part, const Accesses &accesses, Accesses &pending) {
  auto conflicts = [](const Access &a, const Access &b) {
    if (!a.writes && !b.writes)
      return false;
    if (a.place.space != b.place.space)
      return a.place.space == &anySpace || b.place.space == &anySpace;
    return !a.place.span || !b.place.span || plan::mayOverlap(*a.place.span, *b.place.span);
  };
  for (const Access &access : accesses)
    for (const Access &earlier : pending)
      if (conflicts(access, earlier))
        gridBarriers.insert({part.op, int(part.kind)});
  if (hasBarrierBefore(part))
    pending.clear();
  llvm::append_range(pending, accesses);
}

void PersistentNeeds::walkLoop(graph::ControlOpInterface loop, Accesses &pending) {
  SmallVector<graph::CarriedValue> states = loop.getCarriedValues();
  Accesses enter, leave;
  for (unsigned i = 0; i < states.size(); ++i) {
    if (beginsAsCopy(loop, i)) {
      add(enter, states[i].initial, false);
      for (const Place &place : placesOfResult(states[i].result))
        enter.push_back({place, true});
    }
    if (endsAsCopy(loop, i, ops)) {
      add(leave, states[i].result, false);
      for (const Place &place : placesOfResult(states[i].result))
        leave.push_back({place, true});
    }
  }
  if (!enter.empty())
    visit({loop, PersistentPhase::Enter}, enter, pending);
  Accesses hand;
  for (unsigned i = 0; i < states.size(); ++i) {
    if (plan::handover(loop, i) != Handover::Copy)
      continue;
    add(hand, states[i].next, false);
    Places written = placesOfResult(states[i].result);
    if (plan::BufferAttr staging = plan::stagingOf(loop, i))
      written.push_back({&arenaSpace, plan::Span{*staging.getOffset(), plan::bufferBytes(states[i].result)}});
    for (const Place &place : written)
      hand.push_back({place, true});
  }
  SmallVector<Operation *> body;
  for (Operation &op : loop.getLoopBody())
    body.push_back(&op);
  // A step of a loop runs after the code before the loop, or after another step. Repeat the search
  // for grid-wide barriers in the body, with the memory accesses of both, until no barrier is
  // added.
  Accesses before = pending, after;
  for (size_t known = gridBarriers.size() + 1; known != gridBarriers.size();) {
    known = gridBarriers.size();
    Accesses both = before;
    llvm::append_range(both, after);
    walk(body, both);
    if (!hand.empty())
      visit({loop, PersistentPhase::Hand}, hand, both);
    after = both;
  }
  pending = before; // the loop may have no steps: keep the accesses before it
  llvm::append_range(pending, after);
  if (!leave.empty())
    visit({loop, PersistentPhase::Leave}, leave, pending);
}

void PersistentNeeds::walk(ArrayRef<Operation *> list, Accesses &pending) {
  for (Operation *op : list) {
    if (graph::ControlOpInterface loop = graph::countedLoopOf(op)) {
      walkLoop(loop, pending);
      continue;
    }
    if (!isa<plan::LaunchOp>(op))
      continue;
    Accesses accesses;
    for (Value operand : op->getOperands())
      add(accesses, operand, false);
    for (Value result : op->getResults())
      add(accesses, result, true);
    // Phases that use counters must not run concurrently, because each relies on the counters'
    // initial values. Treat the counters as memory that such a phase writes.
    if (plan::GpuLaunchAttr info = plan::gpuLaunchOf(plan::entryOf(cast<plan::LaunchOp>(op)));
        info && info.getCounters() > 0)
      accesses.push_back({{&counterSpace, std::nullopt}, true});
    visit({op, PersistentPhase::Launch}, accesses, pending);
  }
}

} // namespace hewn::codegen
