// SPDX-License-Identifier: Apache-2.0
//
// Which form a kernel for a grid of threads gets, and its schedule: the first of these that it has.
//
//     two contractions with rows between them   →  grid_chain
//     one, followed by elementwise ops          →  grid_contract
//     reductions over the same dims             →  grid_rows
//     what an op cumulates                      →  grid_cumulate
//     a map of what lies along another dim      →  grid_transpose
//     anything else                             →  grid_map
//
// Figures come from the models (lib/Schedule); what is asked here is how operands and results lie.
#include "lib/Codegen/Grid/Contract/GridBox.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Loops/GridLoops.h"
#include "lib/Codegen/Grid/Loops/GridVectors.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Schedule/GridChainSchedule.h"
#include "lib/Schedule/GridLoopSchedule.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

static Found<plan::GridContractAttr> chooseContraction(KernelFunction &k, plan::GridTileAttr wanted) {
  Found<GridTiles> tiles = gridTiles(k);
  if (!tiles)
    return Verdict::no(tiles.why());
  if (tiles->parts > plan::kMaxGridCount)
    return Verdict::no("its sum is in more splits than a grid has blocks");
  Verdict multiplies = plan::multipliesMatrices(tiles->op);
  if (multiplies && !wanted)
    wanted = plan::chooseTile(tiles->op, /*maySplit=*/false);
  if (multiplies && wanted) {
    Found<std::pair<GridBox, GridBox>> boxes = gridBoxes(k, *tiles);
    if (!boxes && plan::multipliesByGroups(tiles->op))
      missedContraction(k, "NotFetched", boxes.why());
    return plan::chooseMatrixContraction(wanted, tiles->op, bool(boxes), tiles->parts);
  }
  missedContraction(k, "NotMatrix",
                    multiplies ? "the smallest tile of a matrix instruction has no room in shared memory"
                               : multiplies.why());
  if (tiles->parts > 1)
    return Verdict::no("a sum in splits is made by matrix instructions alone");
  plan::GridContractAttr schedule = plan::chooseThreadContraction(tiles->op, tiles->leftAlongSum, tiles->rightAlongSum);
  if (!schedule)
    return Verdict::no("its sides or sums are so short that elements are better made one by one");
  return schedule;
}

static plan::GridChainAttr chooseChain(KernelFunction &k, OpBuilder &b, const graph::Chain &chain) {
  Found<OnlineRows> online = onlineRows(k, b, chain);
  if (!online)
    missedContraction(k, "NotOnePass", online.why());
  return plan::chooseGridChain(chain, bool(online));
}

/// The number of elements of some dims of a space.
static DimExpr countOf(const Dims &space, ArrayRef<int64_t> list) {
  return graph::numElements(llvm::map_to_vector<4>(list, [&](int64_t d) { return space[d]; }));
}

static plan::GridRowsAttr chooseRows(KernelFunction &k, const RowProgram &rows) {
  plan::GridAttr grid = plan::gridOf(k.kernel);
  GridRowDims dims = rowDims(rows);
  DimExpr count = countOf(rows.space, dims.outer), length = countOf(rows.space, dims.inner);
  plan::GridRowsAttr schedule = plan::chooseRowThreads(count, length, dims.sideBySide, grid);
  if (schedule.getRowThreads() == 1)
    return schedule;
  std::optional<GridWide> wide = wideRows(k, rows, std::nullopt);
  return wide ? plan::chooseRowWidth(schedule, length, wide->lanes(), grid) : schedule;
}

static plan::GridCumulateAttr chooseCumulate(KernelFunction &k, graph::CumulateOpInterface op) {
  Dims dims = graph::getDims(op->getOperand(0));
  GridLineDims lines = linesOf(op);
  return plan::chooseLineThreads(countOf(dims, lines.outer), dims[size_t(op.getCumulatedDim())], lines.areContiguous,
                                 plan::gridOf(k.kernel));
}

static Found<plan::GridTransposeAttr> chooseTranspose(KernelFunction &k, OpBuilder &b) {
  constexpr int64_t least = 16, tile = 32, threads = 256;
  Found<GridTransposeDims> found = transposedDims(k, b);
  if (!found)
    return Verdict::no(found.why());
  Dims dims = graph::getDims(k.results[0]);
  auto longEnough = [&](unsigned d) { return dims[d].constant().value_or(least) >= least; };
  if (!longEnough(found->along) || !longEnough(found->across))
    return Verdict::no("the dims that it exchanges are too short for tiles");
  return plan::GridTransposeAttr::get(k.kernel.getContext(), tile, threads);
}

/// Neighbours at once where there are enough of them for all processors.
static plan::GridMapAttr chooseMap(KernelFunction &k, OpBuilder &b) {
  constexpr int64_t threads = 256, mostLanes = 8;
  SmallVector<int64_t> widths;
  for (const auto &together : resultsOfEqualDims(k)) {
    std::optional<int64_t> all = graph::numElements(graph::getDims(k.results[together[0]])).constant();
    int64_t busy = plan::gridOf(k.kernel).getProcessors() * threads;
    bool areFew = all && *all < busy;
    std::optional<GridWide> wide = areFew ? std::nullopt : wideMap(k, together, std::nullopt);
    int64_t width = wide ? wide->lanes() : 1;
    // (Vectors that are summed of many others keep a thread busy for longer: there must be some for each.)
    for (int64_t lanes = mostLanes; !wide && width == 1 && lanes > 1; lanes /= 2)
      if ((!all || *all >= lanes * busy) && makesVectors(k, b, together, lanes))
        width = lanes;
    widths.push_back(width);
  }
  MLIRContext *context = k.kernel.getContext();
  return plan::GridMapAttr::get(context, threads, DenseI64ArrayAttr::get(context, widths));
}

Attribute chooseGrid(KernelFunction &k, OpBuilder &b, plan::GridTileAttr wanted) {
  Found<graph::Chain> chain = gridChain(k);
  if (chain)
    return chooseChain(k, b, *chain);
  if (hasSeveralContractions(k))
    missedContraction(k, "NotChained", chain.why());
  Found<plan::GridContractAttr> contraction = chooseContraction(k, wanted);
  if (contraction)
    return *contraction;
  missedContraction(k, "NotTiled", contraction.why());
  Found<RowProgram> rows = planRows(k);
  if (rows)
    return chooseRows(k, *rows);
  missedReductions(k, rows.why());
  if (graph::CumulateOpInterface op = onlyCumulates(k))
    return chooseCumulate(k, op);
  Found<plan::GridTransposeAttr> transpose = chooseTranspose(k, b);
  if (transpose)
    return *transpose;
  missedTransposes(k, transpose.why());
  return chooseMap(k, b);
}

} // namespace hewn::codegen
