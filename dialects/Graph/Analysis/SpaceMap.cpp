// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

std::optional<SpaceMap> SpaceMap::spaceOf(ArrayRef<Operation *> ops) {
  Operation *contraction = nullptr;
  for (Operation *op : ops) {
    if (auto reduce = dyn_cast<ReduceOpInterface>(op))
      return SpaceMap(getDims(op->getOperand(0)), reduce.getReducedDims());
    if (isa<ContractOpInterface>(op))
      contraction = op;
  }
  return contraction ? std::optional(SpaceMap(getDims(contraction->getResult(0)), {})) : std::nullopt;
}

bool SpaceMap::isWhole(ArrayRef<int64_t> along) const {
  return llvm::all_of(llvm::enumerate(along),
                      [](auto pair) { return pair.value() == kNone || pair.value() == int64_t(pair.index()); });
}

/// Returns, for each result dim of an elementwise op, the space dim that the held operands of the
/// op give it, or nullopt if they contradict each other. Operand dims are aligned with the last
/// dims of the result, as in ONNX broadcasting.
std::optional<SpaceMap::Along> SpaceMap::followElements(Operation *op) const {
  Dims result = getDims(op->getResult(0));
  Along along(result.size(), kNone);
  for (Value operand : op->getOperands()) {
    auto found = held.find(operand);
    if (found == held.end())
      continue;
    for (auto [i, dim] : llvm::enumerate(found->second)) {
      size_t outer = result.size() - found->second.size() + i;
      if (dim == kNone)
        continue;
      // Rejects an operand whose dim differs from the result's dim, because the operand may be
      // broadcast along this dim at run time.
      if (result[outer] != space[dim] || (along[outer] != kNone && along[outer] != dim))
        return std::nullopt;
      along[outer] = dim;
    }
  }
  return along;
}

std::optional<SpaceMap::Along> SpaceMap::follow(Operation *op) const {
  bool reads = llvm::any_of(op->getOperands(), [&](Value operand) { return held.contains(operand); });
  if (isa<ContractOpInterface>(op)) {
    if (reads || !reduced.empty() || getDims(op->getResult(0)) != space)
      return std::nullopt;
    Along along;
    for (auto [d, dim] : llvm::enumerate(space))
      along.push_back(dim.is(1) ? kNone : int64_t(d));
    return along;
  }
  if (auto reduce = dyn_cast<ReduceOpInterface>(op)) {
    auto operand = held.find(op->getOperand(0));
    if (getDims(op->getOperand(0)) != space || reduce.getReducedDims() != reduced ||
        (operand != held.end() && !isWhole(operand->second)))
      return std::nullopt;
    Along along;
    for (auto [d, dim] : llvm::enumerate(space))
      if (!isReduced(d))
        along.push_back(dim.is(1) ? kNone : int64_t(d));
      else if (reduce.keepsDims())
        along.push_back(kNone);
    return along;
  }
  if (!reads)
    return Along();
  // Rejects users of a held value that are not elementwise, because they may read the held value at
  // any index.
  return isa<ElementwiseOpInterface>(op) ? followElements(op) : std::nullopt;
}

bool SpaceMap::add(Operation *op) {
  std::optional<Along> along = follow(op);
  if (!along)
    return false;
  bool holds = isa<ContractOpInterface, ReduceOpInterface>(op) ||
               llvm::any_of(op->getOperands(), [&](Value operand) { return held.contains(operand); });
  if (holds)
    held[op->getResult(0)] = std::move(*along);
  return true;
}

void SpaceMap::hold(Value value) {
  Along along;
  for (auto [d, dim] : llvm::enumerate(space))
    along.push_back(dim.is(1) ? kNone : int64_t(d));
  held[value] = std::move(along);
}

std::optional<SpaceMap::Place> SpaceMap::placeOf(Value value) const {
  Dims dims = getDims(value);
  Along along(dims.size(), kNone);
  if (auto found = held.find(value); found != held.end()) {
    along = found->second;
  } else if (Operation *op = value.getDefiningOp()) {
    std::optional<Along> followed = follow(op);
    if (!followed)
      return std::nullopt;
    if (!followed->empty())
      along = *followed;
  }
  // A dim of `value` that does not follow a held value may be mapped to any space dim. If `value`
  // has the dims of the kernel's iteration space, its dims are mapped in the order of the space.
  if (dims == space) {
    if (!isWhole(along))
      return std::nullopt;
    return Place{true, llvm::to_vector<4>(llvm::seq<int64_t>(0, int64_t(dims.size())))};
  }
  if (reduced.empty())
    return std::nullopt;
  size_t next = 0;
  auto skip = [&] {
    while (next < space.size() && (isReduced(next) || space[next].is(1)))
      ++next;
  };
  for (auto [d, dim] : llvm::enumerate(dims)) {
    if (dim.is(1))
      continue;
    skip();
    if (next == space.size() || space[next] != dim || (along[d] != kNone && along[d] != int64_t(next)))
      return std::nullopt;
    along[d] = int64_t(next++);
  }
  skip();
  return next == space.size() ? std::optional(Place{false, along}) : std::nullopt;
}

llvm::DenseSet<Value> readAtOwnIndex(Block &block, ArrayRef<DimExpr> dims) {
  llvm::DenseSet<Value> found;
  auto see = [&](Value value) {
    bool fits = ArrayRef<DimExpr>(getDims(value)) == dims && llvm::all_of(value.getUsers(), [&](Operation *user) {
                  return user->hasTrait<OpTrait::IsTerminator>() ||
                         (isa<ElementwiseOpInterface>(user) && found.contains(user->getResult(0)));
                });
    if (fits)
      found.insert(value);
  };
  for (Operation &op : llvm::reverse(block))
    llvm::for_each(op.getResults(), see);
  llvm::for_each(block.getArguments(), see);
  return found;
}

} // namespace hewn::graph
