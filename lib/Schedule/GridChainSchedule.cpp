// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/GridChainSchedule.h"
#include "lib/Schedule/Schedule.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::plan {

static int64_t depthOf(const Chain &chain) {
  graph::ContractOpInterface first = chain.first;
  std::optional<graph::ContractRoles> roles = graph::contractRoles(first);
  return first.getIterationDims(graph::getDims)[*graph::plainSummedDim(first, *roles)].constant().value_or(1);
}

static int64_t widthOf(const Chain &chain) {
  return graph::getDims(chain.second->getResult(0)).back().constant().value_or(1);
}

static Dims spaceOf(const Chain &chain) {
  return graph::getDims(graph::ContractOpInterface(chain.first)->getResult(0));
}

Type gridChainFactors(const Chain &chain) {
  graph::ContractOpInterface first = chain.first, second = chain.second;
  Type type = graph::getElementType(chain.weights);
  bool all = llvm::all_of(ArrayRef<Value>{first->getOperand(0), first->getOperand(1), second->getOperand(1)},
                          [&](Value v) { return graph::getElementType(v) == type; });
  return all && (type.isF16() || type.isBF16()) ? type : Type(Float32Type::get(first->getContext()));
}

GridChainSpread spreadOf(GridChainAttr schedule) {
  return {schedule.getWarpsM(), schedule.getWarpsN(), schedule.getColumns(), schedule.getRowTiles()};
}

/// How a block's warps share rows and columns.
static GridChainSpread chooseSpread(const Chain &chain, bool online) {
  constexpr int64_t unknown = 1024;
  int64_t rows = spaceOf(chain)[chain.rowDim].constant().value_or(unknown);
  int64_t high = int64_t(llvm::divideCeil(rows, GridChainSpread::kInstructionRows));
  bool isNarrow = std::max(depthOf(chain), widthOf(chain)) <= kShortLine;
  bool isHalf = !gridChainFactors(chain).isF32();
  if (online && high == 1 && isHalf)
    return {1, 4, 16};
  if (online && high == 1)
    return isNarrow ? GridChainSpread{1, 4, 16} : GridChainSpread{1, 3, 8};
  GridChainSpread many = isHalf     ? GridChainSpread{4, 1, isNarrow ? 64 : 32}
                         : isNarrow ? GridChainSpread{4, 1, 32}
                                    : GridChainSpread{3, 1, 16};
  // Where as many rows are made twice, and there are blocks enough for all processors.
  GridChainSpread tall{4, 1, 32, 2};
  std::optional<int64_t> blocks = gridChainItems(chain, tall).constant();
  bool wastesNoMore =
      llvm::alignTo(uint64_t(rows), uint64_t(tall.rows())) == llvm::alignTo(uint64_t(rows), uint64_t(many.rows()));
  if (online && isHalf && isNarrow && blocks && wastesNoMore && *blocks >= 2 * gridOf(chain.first).getProcessors())
    return tall;
  many.high = std::min(many.high, std::max<int64_t>(high, 1));
  return many;
}

DimExpr gridChainItems(const Chain &chain, const GridChainSpread &spread) {
  Dims space = spaceOf(chain);
  return graph::numElements(ArrayRef(space).take_front(chain.rowDim)) * space[chain.rowDim].ceilDiv(spread.rows());
}

int64_t gridChainStates(const Chain &chain, const GridChainSpread &spread) {
  // Of each of two rows the maximum and the sum; of each eight columns of the result four sums.
  constexpr int64_t ofRows = 4;
  return (ofRows + int64_t(llvm::divideCeil(widthOf(chain), 8)) * 4) * spread.rowTiles * spread.high *
         gridOf(chain.first).getWarpSize();
}

/// Tiles of a split for which splitting the columns once more gains what it costs.
static int64_t leastTiles(const Chain &chain, const GridChainSpread &spread) {
  GridAttr grid = gridOf(chain.first);
  GridCostsAttr costs = grid.getCosts();
  auto lines = double(depthOf(chain) + widthOf(chain)), tile = double(spread.tile());
  bool isHalf = !gridChainFactors(chain).isF32();
  double words = isHalf ? 0.5 : double(std::max<int64_t>(grid.getMmasPerProduct(), 1));
  double multiply = double(spread.rows()) * tile * lines * words / double(costs.getMmaProductsPerCycle());
  double bring =
      tile * lines * double(graph::elementBytes(chain.first->getOperand(1))) / double(costs.getL2BytesPerCycle());
  double tiles =
      double(costs.getSplitOverheadCycles()) / (std::max(multiply, bring) + double(costs.getTileOverheadCycles()));
  return std::clamp<int64_t>(int64_t(std::ceil(std::min(tiles, double(kMaxGridCount)))), 1, kMaxGridCount);
}

DimExpr gridChainSplits(const Chain &chain, GridChainAttr schedule) {
  if (schedule.getSplitTiles() == 0)
    return DimExpr(1);
  GridChainSpread spread = spreadOf(schedule);
  DimExpr items = DimExpr::max(gridChainItems(chain, spread), DimExpr(1));
  DimExpr fit = spaceOf(chain).back().floorDiv(DimExpr(schedule.getSplitTiles() * spread.tile()));
  return DimExpr::max(DimExpr::min(fit, DimExpr(schedule.getBlocks()).floorDiv(items)), DimExpr(1));
}

GridChainAttr chooseGridChain(const Chain &chain, bool online) {
  MLIRContext *context = chain.first->getContext();
  GridChainSpread spread = chooseSpread(chain, online);
  auto schedule = [&](int64_t splitTiles, int64_t blocks) {
    return GridChainAttr::get(context, spread.high, spread.wide, spread.columns, gridChainFactors(chain), online,
                              splitTiles, blocks, spread.rowTiles);
  };
  GridChainAttr whole = schedule(0, 0);
  if (!online)
    return whole;
  GridChainAttr split =
      schedule(leastTiles(chain, spread), std::min(gridOf(chain.first).getProcessors(), kMaxGridCount));
  return gridChainSplits(chain, split).is(1) ? whole : split;
}

Dims gridChainScratch(const Chain &chain, GridChainAttr schedule) {
  DimExpr splits = gridChainSplits(chain, schedule);
  if (splits.is(1))
    return {};
  GridChainSpread spread = spreadOf(schedule);
  DimExpr some = DimExpr::min(splits - DimExpr(1), DimExpr(1));
  return {splits * some, gridChainItems(chain, spread) * DimExpr(gridChainStates(chain, spread))};
}

} // namespace hewn::plan
