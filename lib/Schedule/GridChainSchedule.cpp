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

GridChainSpread gridChainSpread(const Chain &chain, bool online) {
  constexpr int64_t unknown = 1024, shortLine = 64;
  int64_t rows = spaceOf(chain)[chain.rowDim].constant().value_or(unknown);
  int64_t high = int64_t(llvm::divideCeil(rows, GridChainSpread::kWarpRows));
  bool isNarrow = std::max(depthOf(chain), widthOf(chain)) <= shortLine;
  bool isHalf = !gridChainFactors(chain).isF32();
  if (online && high == 1 && isHalf)
    return {1, 4, 16};
  if (online && high == 1)
    return isNarrow ? GridChainSpread{1, 4, 16} : GridChainSpread{1, 3, 8};
  GridChainSpread many = isHalf     ? GridChainSpread{4, 1, isNarrow ? 64 : 32}
                         : isNarrow ? GridChainSpread{4, 1, 32}
                                    : GridChainSpread{3, 1, 16};
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
  return (ofRows + int64_t(llvm::divideCeil(widthOf(chain), 8)) * 4) * spread.high * gridOf(chain.first).getWarp();
}

/// Tiles of a part for which dividing the columns once more gains what it costs.
static int64_t leastTiles(const Chain &chain, const GridChainSpread &spread) {
  GridAttr grid = gridOf(chain.first);
  GridCostsAttr costs = grid.getCosts();
  auto lines = double(depthOf(chain) + widthOf(chain)), tile = double(spread.tile());
  bool isHalf = !gridChainFactors(chain).isF32();
  double words = isHalf ? 0.5 : double(std::max<int64_t>(grid.getProducts(), 1));
  double multiply = double(spread.rows()) * tile * lines * words / double(costs.getRate());
  double bring = tile * lines * double(graph::elementBytes(chain.first->getOperand(1))) / double(costs.getCacheRate());
  return std::max<int64_t>(1, int64_t(std::ceil(double(costs.getPartCycles()) /
                                                (std::max(multiply, bring) + double(costs.getTileCycles())))));
}

DimExpr gridChainParts(const Chain &chain) {
  // Two reductions, of which the second needs the first: what else has them is made in one part.
  auto reductions = llvm::count_if(chain.middle, [](Operation *op) { return isa<graph::ReduceOpInterface>(op); });
  GridAttr grid = gridOf(chain.first);
  if (!grid || reductions != 2)
    return DimExpr(1);
  GridChainSpread spread = gridChainSpread(chain, /*online=*/true);
  DimExpr items = DimExpr::max(gridChainItems(chain, spread), DimExpr(1));
  DimExpr fit = spaceOf(chain).back().floorDiv(DimExpr(leastTiles(chain, spread) * spread.tile()));
  return DimExpr::max(DimExpr::min(fit, DimExpr(grid.getProcessors()).floorDiv(items)), DimExpr(1));
}

Dims gridChainScratch(const Chain &chain) {
  DimExpr parts = gridChainParts(chain);
  if (parts.is(1))
    return {};
  GridChainSpread spread = gridChainSpread(chain, /*online=*/true);
  DimExpr some = DimExpr::min(parts - DimExpr(1), DimExpr(1));
  return {parts * some, gridChainItems(chain, spread) * DimExpr(gridChainStates(chain, spread))};
}

} // namespace hewn::plan
