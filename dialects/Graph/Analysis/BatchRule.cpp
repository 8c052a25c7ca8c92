// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/BatchRule.h"
#include "dialects/Graph/Analysis/Sharding.h"

using namespace mlir;

namespace hewn::graph {

std::optional<BatchRule> batchRule(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() || getRank(op->getResult(0)) == 0)
    return std::nullopt;
  std::optional<ShardingRule> form = shardingRule(op, DimSharding{0}, getDims(op->getResult(0))[0]);
  if (!form)
    return std::nullopt;
  BatchRule items{{}, std::move(form->attributes)};
  DimExpr items0 = getDims(op->getResult(0))[0];
  for (auto [operand, cut] : llvm::zip(op->getOperands(), form->operands)) {
    if (cut && (*cut != DimSharding{0} || getDims(operand)[0] != items0))
      return std::nullopt;
    items.byItem.push_back(cut.has_value());
  }
  return llvm::is_contained(items.byItem, true) ? std::optional(std::move(items)) : std::nullopt;
}

} // namespace hewn::graph
