// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Values/Liveness.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

using namespace mlir;

namespace hewn::plan {

Liveness::Liveness(FunctionOpInterface program) {
  number(program.getFunctionBody().front());
  program.getFunctionBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      use(op, operand);
  });
  keepInitialValues(program);
}

/// Extends the lifetimes of initial values of loop-carried values of dynamic size to the lifetime
/// of the loop's result, because the result may be the initial value itself: if the loop has no
/// steps, or if every step forwards it. Later loops are visited first, because they may extend the
/// lifetimes of results of earlier loops.
void Liveness::keepInitialValues(FunctionOpInterface program) {
  llvm::StringSet<> symbols = inputSymbols(program);
  SmallVector<graph::ControlOpInterface> loops;
  program.getFunctionBody().walk([&](Operation *op) {
    if (graph::ControlOpInterface loop = graph::loopOf(op))
      loops.push_back(loop);
  });
  bool changed = true;
  while (changed) {
    changed = false;
    for (graph::ControlOpInterface loop : llvm::reverse(loops))
      for (const graph::CarriedValue &carried : loop.getCarriedValues()) {
        auto result = lives.find(carried.result);
        if (result == lives.end() || hasFixedSize(carried.result, symbols))
          continue;
        unsigned end = std::max(result->second.end, positions.lookup(loop).end);
        for (Value root : roots(carried.initial))
          if (auto life = lives.find(root); life != lives.end() && life->second.end < end) {
            life->second.end = end;
            changed = true;
          }
      }
  }
}

void Liveness::number(Block &block) {
  for (Operation &op : block) {
    unsigned begin = next++;
    for (OpResult result : op.getResults())
      if (ownsBuffer(result))
        lives[result] = {begin, begin};
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        number(inner);
    // The buffer of an assembled (concatenated) result is live from its first subview on.
    if (isa<AssembleOp>(op))
      for (Value subview : op.getOperands())
        lives[op.getResult(0)].begin = std::min(lives[op.getResult(0)].begin, positions[subview.getDefiningOp()].begin);
    positions[&op] = {begin, next++};
    // A result of an op with regions is live until the last region ends.
    if (op.getNumRegions())
      for (OpResult result : op.getResults())
        if (ownsBuffer(result))
          lives[result].end = next - 1;
  }
}

void Liveness::use(Operation *user, Value value) {
  if (!isa<RankedTensorType>(value.getType()))
    return;
  for (Value root : roots(value)) {
    auto life = lives.find(root);
    if (life == lives.end())
      continue;
    // A loop reads the sequences that it slices at every step, so their buffers are live until the
    // end of the loop. Initial values of counted loops are treated like sequences.
    Positions at = positions.lookup(user);
    unsigned last = graph::countedLoopOf(user) ? at.end : at.begin;
    Operation *owner = root.getDefiningOp();
    for (Operation *parent = user->getParentOp(); parent && !parent->isProperAncestor(owner);
         parent = parent->getParentOp())
      if (graph::loopOf(parent))
        last = std::max(last, positions.lookup(parent).end);
    life->second.end = std::max(life->second.end, last);
  }
}

Lifetime Liveness::handOver(Operation *loop) const {
  Positions yield = positions.lookup(loop->getRegion(0).front().getTerminator());
  return {yield.begin, positions.lookup(loop).end};
}

} // namespace hewn::plan
