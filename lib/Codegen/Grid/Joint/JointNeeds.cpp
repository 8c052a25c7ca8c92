// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Joint/JointNeeds.h"
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::plan::Handover;

namespace hewn::codegen {

bool beginsAsCopy(graph::ScanOp scan, unsigned state) {
  // The place of an initial value may be made anew by the steps; constants and the program's inputs stay.
  Value initial = plan::behindViews(scan->getOperand(state));
  auto argument = dyn_cast<BlockArgument>(initial);
  bool stays = (argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())) ||
               isa_and_nonnull<graph::ConstantOp>(initial.getDefiningOp());
  std::optional<Handover> how = plan::handover(scan, state);
  return !stays || how == Handover::Place || how == Handover::Copy;
}

bool endsAsCopy(graph::ScanOp scan, unsigned state, ArrayRef<Operation *> joint) {
  std::optional<Handover> how = plan::handover(scan, state);
  if (how == Handover::Place || how == Handover::Copy || (how == Handover::Same && beginsAsCopy(scan, state)))
    return false;
  SmallVector<Value> values = {scan->getResult(state)};
  while (!values.empty()) {
    Value value = values.pop_back_val();
    for (Operation *user : value.getUsers()) {
      bool inside = llvm::any_of(joint, [&](Operation *op) { return op->isAncestor(user); });
      // Another loop begins with it where it is, and a step may end with it.
      if (!inside || isa<graph::YieldOp>(user))
        return true;
      if (graph::isViewKind(user))
        values.push_back(user->getResult(0));
    }
  }
  return false;
}

namespace {
/// Names of memory that no value has.
const char arenaSpace = 0, anySpace = 0, counterSpace = 0;
} // namespace

JointNeeds::JointNeeds(ArrayRef<Operation *> ops) : ops(ops) {
  Accesses pending;
  walk(ops, pending);
}

JointNeeds::Places JointNeeds::placesOfResult(OpResult result) {
  plan::PlaceAttr place = plan::placeOf(result);
  if (std::optional<DimExpr> offset = plan::arenaOffset(result))
    return {{&arenaSpace, plan::Span{*offset, plan::bufferBytes(result)}}};
  if (place && place.getKind() == "output")
    return {{place.getAsOpaquePointer(), std::nullopt}};
  if (place && place.getKind() == "slice")
    if (std::optional<int64_t> index = DimExpr::fromAttr(place.getOffset())->constant())
      return placesOf(result.getOwner()->getParentOp()->getResult(unsigned(*index)));
  if (place && place.getKind() == "dynamic")
    return {{result.getAsOpaquePointer(), std::nullopt}};
  return {{&anySpace, std::nullopt}};
}

JointNeeds::Places JointNeeds::placesOfState(graph::ScanOp scan, unsigned state) {
  Places places = placesOfResult(cast<OpResult>(scan->getResult(state)));
  if (plan::handover(scan, state) == Handover::Copy) // and nowhere else, from before the first step on
    return places;
  llvm::append_range(places, placesOf(scan->getOperand(state)));
  Value yielded = plan::behindViews(scan.getBody().front().getTerminator()->getOperand(state));
  if (auto made = dyn_cast<OpResult>(yielded))
    llvm::append_range(places, placesOfResult(made));
  return places;
}

JointNeeds::Places JointNeeds::placesOf(Value value) {
  value = plan::behindViews(value);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    unsigned i = argument.getArgNumber();
    if (isa<func::FuncOp>(parent)) // nobody writes there
      return {};
    auto scan = dyn_cast<graph::ScanOp>(parent);
    if (!scan)
      return {{&anySpace, std::nullopt}};
    return i < scan.getNumStates() ? placesOfState(scan, i) : placesOf(scan->getOperand(i));
  }
  Operation *op = value.getDefiningOp();
  if (isa<graph::ConstantOp>(op))
    return {};
  auto result = cast<OpResult>(value);
  if (auto scan = dyn_cast<graph::ScanOp>(op); scan && result.getResultNumber() < scan.getNumStates())
    return placesOfState(scan, result.getResultNumber());
  Places places = placesOfResult(result);
  // A state that takes turns is made at its own place every other time, and so is what is made in its memory.
  if (auto scan = dyn_cast<graph::ScanOp>(op->getParentOp()))
    for (unsigned i = 0; i < unsigned(scan.getNumStates()); ++i)
      if (plan::handover(scan, i) == Handover::Turns &&
          plan::arenaOffset(plan::behindViews(scan.getBody().front().getTerminator()->getOperand(i))) ==
              plan::arenaOffset(result))
        llvm::append_range(places, placesOfResult(cast<OpResult>(scan->getResult(i))));
  return places;
}

void JointNeeds::add(Accesses &list, Value value, bool writes) {
  for (const Place &place : placesOf(value))
    list.push_back({place, writes});
}

void JointNeeds::visit(JointPart part, const Accesses &accesses, Accesses &pending) {
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
        meetings.insert({part.op, int(part.kind)});
  if (meetsBefore(part))
    pending.clear();
  llvm::append_range(pending, accesses);
}

void JointNeeds::walkScan(graph::ScanOp scan, Accesses &pending) {
  auto states = unsigned(scan.getNumStates());
  Accesses enter, leave;
  for (unsigned i = 0; i < states; ++i) {
    OpResult result = scan->getResult(i);
    if (beginsAsCopy(scan, i)) {
      add(enter, scan->getOperand(i), false);
      for (const Place &place : placesOfResult(result))
        enter.push_back({place, true});
    }
    if (endsAsCopy(scan, i, ops)) {
      add(leave, result, false);
      for (const Place &place : placesOfResult(result))
        leave.push_back({place, true});
    }
  }
  if (!enter.empty())
    visit({scan, JointPart::Enter}, enter, pending);
  Accesses hand;
  for (unsigned i = 0; i < states; ++i) {
    if (plan::handover(scan, i) != Handover::Copy)
      continue;
    add(hand, scan.getBody().front().getTerminator()->getOperand(i), false);
    Places written = placesOfResult(scan->getResult(i));
    if (plan::PlaceAttr staging = plan::stagingOf(scan, i))
      written.push_back(
          {&arenaSpace, plan::Span{*DimExpr::fromAttr(staging.getOffset()), plan::bufferBytes(scan->getResult(i))}});
    for (const Place &place : written)
      hand.push_back({place, true});
  }
  SmallVector<Operation *> body;
  for (Operation &op : scan.getBody().front())
    body.push_back(&op);
  // A step follows what is before the loop or another step: until nothing new is found.
  Accesses before = pending, after;
  for (size_t known = meetings.size() + 1; known != meetings.size();) {
    known = meetings.size();
    Accesses both = before;
    llvm::append_range(both, after);
    walk(body, both);
    if (!hand.empty())
      visit({scan, JointPart::Hand}, hand, both);
    after = both;
  }
  pending = before; // there may be no step at all
  llvm::append_range(pending, after);
  if (!leave.empty())
    visit({scan, JointPart::Leave}, leave, pending);
}

void JointNeeds::walk(ArrayRef<Operation *> list, Accesses &pending) {
  for (Operation *op : list) {
    if (auto scan = dyn_cast<graph::ScanOp>(op)) {
      walkScan(scan, pending);
      continue;
    }
    if (!isa<plan::LaunchOp>(op))
      continue;
    Accesses accesses;
    for (Value operand : op->getOperands())
      add(accesses, operand, false);
    for (Value result : op->getResults())
      add(accesses, result, true);
    // Who counts finds the counters as they are when nobody does.
    if (func::FuncOp function = plan::functionOf(cast<plan::LaunchOp>(op));
        function && function->hasAttr(plan::kCountersAttr))
      accesses.push_back({{&counterSpace, std::nullopt}, true});
    visit({op, JointPart::Launch}, accesses, pending);
  }
}

} // namespace hewn::codegen
