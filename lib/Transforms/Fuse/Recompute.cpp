// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Fuse/Recompute.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;
using hewn::graph::Dims;

namespace hewn {

namespace {
/// Loads and operations per element of a kernel's result that count as free, because writing the
/// element takes longer.
constexpr double kHiddenCost = 16;
/// Limit of the cost of recomputing a value, relative to computing it once. Recomputing may cost
/// more because it saves a kernel and a pass over memory. A Relu and a linear resize to twice the
/// size (ratio 1.8) take the same time in one kernel and in two; an antialiased resize along two
/// dims with 10 weights each (ratio 1.8) is twice as fast in two.
constexpr double kMaxRatio = 1.5;
/// Cost of writing an element to memory for another kernel, in addition to that kernel's load.
constexpr double kWriteCost = 2;
/// Limit of the loads and operations that compute one element of a fused kernel. They become
/// straight-line code; with more of it, the compile time outweighs the saved pass over memory.
constexpr double kMaxCost = 512;

/// Returns the number of elements of a tensor with dims `from`, divided by that of `to`. Returns 1
/// if the quotient is unknown.
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
        isa<graph::ElementwiseOpInterface>(op) ? graph::isTranscendental(*op) : !isa<graph::IndexingOpInterface>(op);
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
  // The number of times that a fused kernel evaluates each op per element. Elementwise users of an
  // op share one evaluation; each indexing op that reads it needs an evaluation of its own.
  llvm::SmallDenseMap<Operation *, double> times;
  times[value.getDefiningOp()] = 1;
  double total = 0;
  for (Operation *op : llvm::reverse(ops)) {
    double own = times.lookup(op);
    if (own == 0)
      continue;
    const graph::ElementCost &cost = elementCost(op);
    total += own * double(cost.operations);
    bool moves = isa<graph::IndexingOpInterface>(op);
    llvm::SmallDenseSet<Value> read; // a repeated operand is read once
    for (auto [operand, reads] : llvm::zip(op->getOperands(), cost.reads)) {
      if (!moves && !read.insert(operand).second)
        continue;
      Operation *maker = operand.getDefiningOp();
      double numReads = own * double(reads);
      bool fromMemory = !inside.contains(maker);
      if (moves && !fromMemory && evaluated == Evaluated::Once) {
        double evaluations = own * ratio(operand, op->getResult(0));
        times[maker] = std::max(times[maker], evaluations);
        total += evaluations * kWriteCost;
        fromMemory = true;
      } else if (moves && !fromMemory) {
        times[maker] += numReads;
      } else if (!fromMemory) {
        times[maker] = std::max(times[maker], numReads);
      }
      total += fromMemory ? numReads : 0;
    }
  }
  return total;
}

bool Recompute::isProfitable(ArrayRef<Operation *> ops, Value operand, Operation *op) {
  const graph::ElementCost &cost = elementCost(op);
  double reads = 0;
  for (auto [read, count] : llvm::zip(op->getOperands(), cost.reads))
    if (read == operand)
      reads = isa<graph::IndexingOpInterface>(op) ? reads + double(count) : 1;
  double here = reads * costOf(ops, operand, Evaluated::WhereRead) + double(cost.operations);
  if (here <= kHiddenCost)
    return true;
  // Compare the fused kernel with one kernel for each indexing op of the chain. The alternative in
  // which only the last indexing op has its own kernel is no basis: each op could then double a
  // cost that earlier ops have already doubled.
  double apart = ratio(operand, op->getResult(0)) * (costOf(ops, operand, Evaluated::Once) + kWriteCost) + reads +
                 double(cost.operations);
  return here <= std::min(kMaxRatio * apart, kMaxCost);
}

} // namespace hewn
