// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Schedule/MmaAttentionSchedule.h"
#include "lib/Schedule/Schedule.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::FusedAttention;

namespace hewn::plan {

static int64_t depthOf(const FusedAttention &attention) {
  graph::ContractOpInterface first = attention.first;
  std::optional<graph::ContractRoles> roles = graph::contractRoles(first);
  return first.getIterationDims(graph::getDims)[*graph::plainSummedDim(first, *roles)].constant().value_or(1);
}

static int64_t widthOf(const FusedAttention &attention) {
  return graph::getDims(attention.second->getResult(0)).back().constant().value_or(1);
}

static Dims spaceOf(const FusedAttention &attention) {
  return graph::getDims(graph::ContractOpInterface(attention.first)->getResult(0));
}

Type gpuAttentionFactors(const FusedAttention &attention) {
  graph::ContractOpInterface first = attention.first, second = attention.second;
  Type type = graph::getElementType(attention.weights);
  bool all = llvm::all_of(ArrayRef<Value>{first->getOperand(0), first->getOperand(1), second->getOperand(1)},
                          [&](Value v) { return graph::getElementType(v) == type; });
  return all && (type.isF16() || type.isBF16()) ? type : Type(Float32Type::get(first->getContext()));
}

GpuAttentionSpread spreadOf(GpuAttentionAttr schedule) {
  return {schedule.getWarpsM(), schedule.getWarpsN(), schedule.getColumns(), schedule.getRowTiles()};
}

/// Chooses how the warps of a thread block divide the rows and columns of the attention scores.
static GpuAttentionSpread chooseSpread(const FusedAttention &attention, bool online) {
  constexpr int64_t unknown = 1024;
  int64_t rows = spaceOf(attention)[attention.rowDim].constant().value_or(unknown);
  int64_t high = int64_t(llvm::divideCeil(rows, GpuAttentionSpread::kInstructionRows));
  bool isNarrow = std::max(depthOf(attention), widthOf(attention)) <= kShortLine;
  bool isHalf = !gpuAttentionFactors(attention).isF32();
  if (online && high == 1 && isHalf)
    return {1, 4, 16};
  if (online && high == 1)
    return isNarrow ? GpuAttentionSpread{1, 4, 16} : GpuAttentionSpread{1, 3, 8};
  GpuAttentionSpread many = isHalf     ? GpuAttentionSpread{4, 1, isNarrow ? 64 : 32}
                            : isNarrow ? GpuAttentionSpread{4, 1, 32}
                                       : GpuAttentionSpread{3, 1, 16};
  // Each warp of an attention kernel gets two row tiles, if that needs no more padding and still
  // leaves enough thread blocks for all multiprocessors.
  GpuAttentionSpread tall{4, 1, 32, 2};
  std::optional<int64_t> blocks = gpuAttentionItems(attention, tall).constant();
  bool wastesNoMore =
      llvm::alignTo(uint64_t(rows), uint64_t(tall.rows())) == llvm::alignTo(uint64_t(rows), uint64_t(many.rows()));
  if (online && isHalf && isNarrow && blocks && wastesNoMore && *blocks >= 2 * gpuOf(attention.first).getProcessors())
    return tall;
  many.high = std::min(many.high, std::max<int64_t>(high, 1));
  return many;
}

DimExpr gpuAttentionItems(const FusedAttention &attention, const GpuAttentionSpread &spread) {
  Dims space = spaceOf(attention);
  return graph::numElements(ArrayRef(space).take_front(attention.rowDim)) *
         space[attention.rowDim].ceilDiv(spread.rows());
}

int64_t gpuAttentionStates(const FusedAttention &attention, const GpuAttentionSpread &spread) {
  // Counts the registers of a thread that are stored in a partial attention result: the maximum and
  // the sum of each of its two rows, and four accumulators for each eight columns of the result.
  constexpr int64_t ofRows = 4;
  return (ofRows + int64_t(llvm::divideCeil(widthOf(attention), 8)) * 4) * spread.rowTiles * spread.high *
         gpuOf(attention.first).getWarpSize();
}

/// Returns the least number of column tiles that a thread block gets if the columns of attention
/// scores are split over several blocks. With fewer tiles, the overhead of a further split exceeds
/// the time that it saves.
static int64_t leastTiles(const FusedAttention &attention, const GpuAttentionSpread &spread) {
  GpuAttr gpu = gpuOf(attention.first);
  GpuCostsAttr costs = gpu.getCosts();
  auto lines = double(depthOf(attention) + widthOf(attention)), tile = double(spread.tile());
  bool isHalf = !gpuAttentionFactors(attention).isF32();
  double words = isHalf ? 0.5 : double(std::max<int64_t>(gpu.getMmasPerProduct(), 1));
  double multiply = double(spread.rows()) * tile * lines * words / double(costs.getMmaProductsPerCycle());
  double bring =
      tile * lines * double(graph::elementBytes(attention.first->getOperand(1))) / double(costs.getL2BytesPerCycle());
  double tiles =
      double(costs.getSplitOverheadCycles()) / (std::max(multiply, bring) + double(costs.getTileOverheadCycles()));
  return std::clamp<int64_t>(int64_t(std::ceil(std::min(tiles, double(kMaxGridCount)))), 1, kMaxGridCount);
}

DimExpr gpuAttentionSplits(const FusedAttention &attention, GpuAttentionAttr schedule) {
  if (schedule.getSplitTiles() == 0)
    return DimExpr(1);
  GpuAttentionSpread spread = spreadOf(schedule);
  DimExpr items = DimExpr::max(gpuAttentionItems(attention, spread), DimExpr(1));
  DimExpr fit = spaceOf(attention).back().floorDiv(DimExpr(schedule.getSplitTiles() * spread.tile()));
  return DimExpr::max(DimExpr::min(fit, DimExpr(schedule.getBlocks()).floorDiv(items)), DimExpr(1));
}

GpuAttentionAttr chooseGpuAttention(const FusedAttention &attention, bool online) {
  MLIRContext *context = attention.first->getContext();
  GpuAttentionSpread spread = chooseSpread(attention, online);
  auto schedule = [&](int64_t splitTiles, int64_t blocks) {
    return GpuAttentionAttr::get(context, spread.high, spread.wide, spread.columns, gpuAttentionFactors(attention),
                                 online, splitTiles, blocks, spread.rowTiles);
  };
  GpuAttentionAttr whole = schedule(0, 0);
  if (!online)
    return whole;
  GpuAttentionAttr split =
      schedule(leastTiles(attention, spread), std::min(gpuOf(attention.first).getProcessors(), kMaxGridCount));
  return gpuAttentionSplits(attention, split).is(1) ? whole : split;
}

Dims gpuAttentionScratch(const FusedAttention &attention, GpuAttentionAttr schedule) {
  DimExpr splits = gpuAttentionSplits(attention, schedule);
  if (splits.is(1))
    return {};
  GpuAttentionSpread spread = spreadOf(schedule);
  DimExpr some = DimExpr::min(splits - DimExpr(1), DimExpr(1));
  return {splits * some, gpuAttentionItems(attention, spread) * DimExpr(gpuAttentionStates(attention, spread))};
}

} // namespace hewn::plan
