// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Analysis/Sharding.h"
#include "dialects/Graph/Graph.h"

using namespace mlir;

namespace hewn::graph {

SmallVector<NamedAttribute> ownAttributes(Operation *op) {
  return llvm::filter_to_vector(op->getAttrs(), [](NamedAttribute attr) { return attr.getName() != kDimsAttr; });
}

std::optional<DimExpr> grainOf(const DimExpr &dim, const DimSharding &cut, const ShardCount &parts) {
  std::optional<DimExpr> block = dim.divideExactly(cut.blocks);
  return block ? block->divideExactly(parts.items.is(0) ? parts.count : parts.items) : std::nullopt;
}

std::optional<DimExpr> shardSize(const DimExpr &dim, const DimSharding &cut, const ShardCount &parts) {
  std::optional<DimExpr> grain = grainOf(dim, cut, parts);
  if (!grain)
    return std::nullopt;
  return cut.blocks * *grain * (parts.items.is(0) ? DimExpr(1) : parts.items.ceilDiv(parts.count));
}

SmallVector<NamedAttribute> withPart(Operation *op, StringRef name, const DimSharding &cut, const ShardCount &parts) {
  SmallVector<NamedAttribute> attributes = ownAttributes(op);
  for (NamedAttribute &attr : attributes)
    if (attr.getName() == name) {
      Dims dims = *parseDims(attr.getValue());
      int64_t place = cut.dim - (getRank(op->getResult(0)) - int64_t(dims.size()));
      if (place >= 0 && !dims[place].is(1))
        dims[place] = shardSize(dims[place], cut, parts).value_or(dims[place]);
      attr.setValue(dimsAttr(op->getContext(), dims));
    }
  return attributes;
}

Dims shardDims(Dims dims, const DimSharding &cut, const ShardCount &parts) {
  dims[cut.dim] = *shardSize(dims[cut.dim], cut, parts);
  return dims;
}

bool isShardable(const Dims &dims, const DimSharding &cut, int64_t parts) {
  if (cut.dim >= int64_t(dims.size()))
    return false;
  std::optional<int64_t> size = dims[cut.dim].constant(), blocks = cut.blocks.constant();
  return size && blocks && *size > 0 && *size % (*blocks * parts) == 0;
}

/// Returns the sharding rule of an elementwise op. The op aligns its operands with the last dims of
/// the result. An operand whose dim is 1 is broadcast, so each shard needs the full operand.
static std::optional<ShardingRule> elementwiseForm(Operation *op, const DimSharding &cut) {
  ShardingRule form;
  Dims result = getDims(op->getResult(0));
  for (Value operand : op->getOperands()) {
    Dims dims = getDims(operand);
    int64_t dim = cut.dim - int64_t(result.size() - dims.size());
    if (dim >= 0 && dims[dim] == result[cut.dim])
      form.operands.push_back(DimSharding{dim, cut.blocks});
    else if (dim < 0 || dims[dim].is(1))
      form.operands.push_back(std::nullopt);
    else
      return std::nullopt;
  }
  return form;
}

/// Returns the operand shards of a contraction whose iteration dim `dim` is sharded. Returns
/// nullopt if an operand index depends on this dim and another one.
static std::optional<ShardingRule> alongIteration(ContractOpInterface op, unsigned dim, const DimExpr &blocks) {
  ShardingRule form;
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    std::optional<DimSharding> cut;
    // left and right operands of a contraction alternate, also if they are split into bf16
    // components
    for (auto [place, expr] : llvm::enumerate(maps[i % 2].getResults())) {
      if (!expr.isFunctionOfDim(dim))
        continue;
      if (!isa<AffineDimExpr>(expr) || cut)
        return std::nullopt;
      cut = DimSharding{int64_t(place), blocks};
    }
    form.operands.push_back(cut);
  }
  return form;
}

static std::optional<ShardingRule> contractForm(ContractOpInterface op, const DimSharding &cut) {
  auto place = dyn_cast<AffineDimExpr>(op.getIndexingMaps()[2].getResult(cut.dim));
  return place ? alongIteration(op, place.getPosition(), cut.blocks) : std::nullopt;
}

static std::optional<ShardingRule> reduceForm(ReduceOpInterface op, const DimSharding &cut) {
  int64_t dim = cut.dim;
  for (int64_t reduced : op.getReducedDims()) { // reduced dims in ascending order
    if (reduced == dim && op.keepsDims())
      return std::nullopt;
    dim += !op.keepsDims() && reduced <= dim;
  }
  return ShardingRule{{DimSharding{dim, cut.blocks}}, {}};
}

std::optional<ShardingRule> shardingRule(Operation *op, const DimSharding &cut, const ShardCount &parts) {
  if (op->getNumResults() != 1 || op->getNumRegions() || getRank(op->getResult(0)) <= cut.dim ||
      !shardSize(getDims(op->getResult(0))[cut.dim], cut, parts))
    return std::nullopt;
  if (auto move = dyn_cast<IndexingOpInterface>(op))
    return move.getShardingRule(cut, parts);
  std::optional<ShardingRule> form;
  if (isa<ElementwiseOpInterface>(op))
    form = elementwiseForm(op, cut);
  else if (auto contract = dyn_cast<ContractOpInterface>(op))
    form = contractForm(contract, cut);
  else if (auto reduce = dyn_cast<ReduceOpInterface>(op))
    form = reduceForm(reduce, cut);
  else if (auto sums = dyn_cast<PrefixScanOpInterface>(op); sums && sums.getCumulatedDim() != cut.dim)
    form = ShardingRule{{cut}, {}};
  if (form)
    form->attributes = ownAttributes(op);
  return form;
}

/// Returns the sharding rule by which a lookup in a sharded table gives partial results. A rank
/// checks whether a looked-up index is in its shard of the table by subtracting the shard's start.
/// The index type must therefore be able to represent numbers beyond the size of the full table.
static std::optional<ShardingRule> lookupSumForm(IndexingOpInterface op, unsigned operand, const DimSharding &cut) {
  std::optional<int64_t> dim = op.getLookedUpDim();
  if (!dim || operand != 0 || cut != DimSharding{*dim, 1})
    return std::nullopt;
  std::optional<int64_t> size = getDims(op->getOperand(0))[*dim].constant();
  unsigned bits = getElementType(op->getOperand(1)).getIntOrFloatBitWidth();
  if (!size || (bits < 64 && *size >= int64_t(1) << (bits - 2)))
    return std::nullopt;
  return ShardingRule{{cut, std::nullopt}, ownAttributes(op)};
}

std::optional<ShardingRule> sumForm(Operation *op, unsigned operand, const DimSharding &cut) {
  if (auto move = dyn_cast<IndexingOpInterface>(op))
    return lookupSumForm(move, operand, cut);
  auto contract = dyn_cast<ContractOpInterface>(op);
  if (!contract)
    return std::nullopt;
  auto place = dyn_cast<AffineDimExpr>(contract.getIndexingMaps()[operand % 2].getResult(cut.dim));
  if (!place || !contract.getReductionDims()[place.getPosition()])
    return std::nullopt;
  std::optional<ShardingRule> form = alongIteration(contract, place.getPosition(), cut.blocks);
  if (form)
    form->attributes = ownAttributes(op);
  return form;
}

/// Maximum number of blocks for which `shardingsThrough` tries to shard a dim. Dims may be
/// arbitrarily long.
static constexpr int64_t kMostBlocks = 1024;

SmallVector<DimSharding> shardingsThrough(Operation *op, unsigned operand, const DimSharding &cut, int64_t parts) {
  SmallVector<DimSharding> found;
  if (op->getNumResults() != 1)
    return found;
  Dims dims = getDims(op->getResult(0));
  for (int64_t dim = 0; dim < int64_t(dims.size()); ++dim) {
    std::optional<int64_t> size = dims[dim].constant();
    if (!size || *size % parts != 0)
      continue;
    for (int64_t blocks = 1; blocks <= std::min(*size / parts, kMostBlocks); ++blocks) {
      DimSharding result{dim, DimExpr(blocks)};
      if (!isShardable(dims, result, parts))
        continue;
      std::optional<ShardingRule> form = shardingRule(op, result, DimExpr(parts));
      if (form && form->operands[operand] == cut)
        found.push_back(result);
      // Only indexing ops change the number of blocks, so trying more blocks is useless for all
      // other ops.
      if (!form || (!isa<IndexingOpInterface>(op) && blocks > *cut.blocks.constant()))
        break;
    }
  }
  llvm::sort(found, [](const DimSharding &a, const DimSharding &b) {
    return std::pair(*a.blocks.constant(), a.dim) < std::pair(*b.blocks.constant(), b.dim);
  });
  return found;
}

} // namespace hewn::graph
