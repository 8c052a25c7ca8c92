// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Fuse/Recompute.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn {

namespace {
/// Up to so many loads and operations an element hide behind the write of the result.
constexpr double kHidden = 16;
/// Computing again may be so many times the work of computing once: it saves a walk over memory, and a kernel.
constexpr double kWorth = 2;
/// An element written for others to read, beside their loads.
constexpr double kWrite = 2;
/// An element's loads and operations, of which code is straight: more takes longer to compile than the walk over memory is worth.
constexpr double kMost = 512;

/// How many elements of `from` there are for one of `to`; 1 where that is not known.
double ratio(const Dims &from, const Dims &to) {
  graph::DimExpr few = graph::numElements(from), many = graph::numElements(to);
  if (few.constant() && many.constant())
    return *many.constant() > 0 ? double(*few.constant()) / double(*many.constant()) : 1;
  if (auto times = many.divideExactly(few); times && times->constant() && *times->constant() > 0)
    return 1 / double(*times->constant());
  if (auto times = few.divideExactly(many); times && times->constant())
    return double(*times->constant());
  return 1;
}

double ratio(Value from, Value to) { return ratio(graph::getDims(from), graph::getDims(to)); }
} // namespace

bool Recompute::isExpensive(Operation *op) {
  auto [entry, isNew] = expensive.try_emplace(op, false);
  if (isNew)
    entry->second =
        isa<graph::ElementwiseOpInterface>(op) ? graph::isTranscendental(*op) : !isa<graph::MoveOpInterface>(op);
  return entry->second;
}

const graph::ElementCost &Recompute::elementCost(Operation *op) {
  auto [entry, isNew] = costs.try_emplace(op);
  if (isNew)
    entry->second = graph::elementCost(op);
  return entry->second;
}

double Recompute::costOf(ArrayRef<Operation *> ops, Value value, Evaluated evaluated) {
  llvm::SmallDenseSet<Operation *> inside(ops.begin(), ops.end());
  if (!inside.contains(value.getDefiningOp()))
    return 1;
  // How often each op is evaluated. Elementwise users ask for one and the same element, moves each for their own.
  llvm::SmallDenseMap<Operation *, double> times;
  times[value.getDefiningOp()] = 1;
  double total = 0;
  for (Operation *op : llvm::reverse(ops)) {
    double own = times.lookup(op);
    if (own == 0)
      continue;
    const graph::ElementCost &cost = elementCost(op);
    total += own * double(cost.operations);
    bool moves = isa<graph::MoveOpInterface>(op);
    llvm::SmallDenseSet<Value> read; // an operand that stands twice is read once
    for (auto [operand, reads] : llvm::zip(op->getOperands(), cost.reads)) {
      if (!moves && !read.insert(operand).second)
        continue;
      Operation *maker = operand.getDefiningOp();
      double asked = own * double(reads);
      bool fromMemory = !inside.contains(maker);
      if (moves && !fromMemory && evaluated == Evaluated::Once) {
        double made = own * ratio(operand, op->getResult(0));
        times[maker] = std::max(times[maker], made);
        total += made * kWrite;
        fromMemory = true;
      } else if (moves && !fromMemory) {
        times[maker] += asked;
      } else if (!fromMemory) {
        times[maker] = std::max(times[maker], asked);
      }
      total += fromMemory ? asked : 0;
    }
  }
  return total;
}

bool Recompute::isProfitable(ArrayRef<Operation *> ops, Value operand, Operation *op) {
  const graph::ElementCost &cost = elementCost(op);
  double reads = 0;
  for (auto [read, count] : llvm::zip(op->getOperands(), cost.reads))
    if (read == operand)
      reads = isa<graph::MoveOpInterface>(op) ? reads + double(count) : 1;
  double here = reads * costOf(ops, operand, Evaluated::WhereRead) + double(cost.operations);
  if (here <= kHidden)
    return true;
  // Beside what every move of the chain would cost in a kernel of its own: beside the last one alone, each could double what those
  // before it have doubled.
  double apart = ratio(operand, op->getResult(0)) * (costOf(ops, operand, Evaluated::Once) + kWrite) + reads +
                 double(cost.operations);
  return here <= std::min(kWorth * apart, kMost);
}

} // namespace hewn
