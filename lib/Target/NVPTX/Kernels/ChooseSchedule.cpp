// SPDX-License-Identifier: Apache-2.0
//
// Selects the kernel generator and the schedule of a GPU kernel. The first matching row applies:
//
// | kernel | schedule |
// | --- | --- |
// | two contractions with row-wise ops between them | gpu_attention |
// | one contraction with an elementwise epilogue | gpu_contract |
// | reductions over the same dims | gpu_rows |
// | one prefix scan | gpu_cumulate |
// | a map whose input and result are contiguous along different dims | gpu_transpose |
// | any other | gpu_map |
//
// The cost models of lib/Schedule choose the parameters from the layout of operands and results,
// which this file analyzes.
#include "lib/Codegen/GPU/Loops/GpuLoops.h"
#include "lib/Codegen/GPU/Loops/GpuVectors.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Schedule/GpuLoopSchedule.h"
#include "lib/Target/NVPTX/Kernels/Kernels.h"
#include "lib/Target/NVPTX/Kernels/TmaOperand.h"
#include "lib/Target/NVPTX/Schedule/MmaAttentionSchedule.h"
#include "lib/Target/NVPTX/Schedule/MmaSchedule.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;

namespace hewn::codegen {

static OrReason<plan::GpuContractAttr> chooseContraction(KernelContext &k, plan::GpuTileAttr wanted) {
  OrReason<GpuTiles> tiles = gpuTiles(k);
  if (!tiles)
    return Eligibility::no(tiles.why());
  if (tiles->parts > plan::kMaxGridCount)
    return Eligibility::no("it has more split-K partials than a launch can have blocks");
  Eligibility multiplies = plan::multipliesMatrices(tiles->op);
  if (multiplies && !wanted)
    wanted = plan::chooseTile(tiles->op, /*maySplit=*/false);
  if (multiplies && wanted) {
    OrReason<std::pair<TmaOperand, TmaOperand>> boxes = gpuBoxes(k, *tiles);
    if (!boxes && plan::multipliesByGroups(tiles->op))
      missedContraction(k, "NotFetched", boxes.why());
    return plan::chooseMatrixContraction(wanted, tiles->op, bool(boxes), tiles->parts);
  }
  missedContraction(k, "NotMatrix",
                    multiplies ? "the smallest tile for matrix instructions does not fit shared memory"
                               : multiplies.why());
  if (tiles->parts > 1)
    return Eligibility::no("split-K needs matrix instructions");
  plan::GpuContractAttr schedule = plan::chooseThreadContraction(tiles->op, tiles->leftAlongSum, tiles->rightAlongSum);
  if (!schedule)
    return Eligibility::no("M, N or K is too small for tiles: each thread computes single elements");
  return schedule;
}

static plan::GpuAttentionAttr chooseAttention(KernelContext &k, OpBuilder &b, const graph::FusedAttention &attention) {
  OrReason<OnlineRows> online = onlineRows(k, b, attention);
  if (!online)
    missedContraction(k, "NotOnePass", online.why());
  return plan::chooseGpuAttention(attention, bool(online));
}

/// Returns the number of elements in the dims of `space` whose numbers are in `list`.
static DimExpr countOf(const Dims &space, ArrayRef<int64_t> list) {
  return graph::numElements(llvm::map_to_vector<4>(list, [&](int64_t d) { return space[d]; }));
}

static plan::GpuRowsAttr chooseRows(KernelContext &k, const RowProgram &rows) {
  plan::GpuAttr gpu = plan::gpuOf(k.kernel);
  GpuRowDims dims = rowDims(rows);
  DimExpr count = countOf(rows.space, dims.outer), length = countOf(rows.space, dims.inner);
  plan::GpuRowsAttr schedule = plan::chooseRowThreads(count, length, dims.sideBySide, gpu);
  if (schedule.getRowThreads() == 1)
    return schedule;
  std::optional<GpuWide> wide = wideRows(k, rows, std::nullopt);
  return wide ? plan::chooseRowWidth(schedule, length, wide->lanes(), gpu) : schedule;
}

static plan::GpuCumulateAttr chooseCumulate(KernelContext &k, graph::PrefixScanOpInterface op) {
  Dims dims = graph::getDims(op->getOperand(0));
  AttentionTileDims lines = linesOf(op);
  return plan::chooseLineThreads(countOf(dims, lines.outer), dims[size_t(op.getCumulatedDim())], lines.areContiguous,
                                 plan::gpuOf(k.kernel));
}

static OrReason<plan::GpuTransposeAttr> chooseTranspose(KernelContext &k, OpBuilder &b) {
  constexpr int64_t least = 16, tile = 32, threads = 256;
  OrReason<GpuTransposeDims> found = transposedDims(k, b);
  if (!found)
    return Eligibility::no(found.why());
  Dims dims = graph::getDims(k.results[0]);
  auto longEnough = [&](unsigned d) { return dims[d].constant().value_or(least) >= least; };
  if (!longEnough(found->along) || !longEnough(found->across))
    return Eligibility::no("the transposed dims are too short for tiles in shared memory");
  return plan::GpuTransposeAttr::get(k.kernel.getContext(), tile, threads);
}

/// Returns the schedule of a map. Results are vectorized if they have enough elements to occupy all
/// multiprocessors.
static plan::GpuMapAttr chooseMap(KernelContext &k, OpBuilder &b) {
  constexpr int64_t threads = 256, mostLanes = 8;
  SmallVector<int64_t> widths;
  for (const auto &together : resultsOfEqualDims(k)) {
    std::optional<int64_t> all = graph::numElements(graph::getDims(k.results[together[0]])).constant();
    int64_t busy = plan::gpuOf(k.kernel).getProcessors() * threads;
    bool areFew = all && *all < busy;
    std::optional<GpuWide> wide = areFew ? std::nullopt : wideMap(k, together, std::nullopt);
    int64_t width = wide ? wide->lanes() : 1;
    // A map element that contains a reduction keeps its thread busy for longer, so use vectors only
    // if there are enough of them to occupy all threads.
    for (int64_t lanes = mostLanes; !wide && width == 1 && lanes > 1; lanes /= 2)
      if ((!all || *all >= lanes * busy) && makesVectors(k, b, together, lanes))
        width = lanes;
    widths.push_back(width);
  }
  MLIRContext *context = k.kernel.getContext();
  return plan::GpuMapAttr::get(context, threads, DenseI64ArrayAttr::get(context, widths));
}

Attribute chooseGpu(KernelContext &k, OpBuilder &b, plan::GpuTileAttr wanted) {
  OrReason<graph::FusedAttention> attention = gpuAttention(k);
  if (attention)
    return chooseAttention(k, b, *attention);
  if (k.analysis->contractions.size() > 1)
    missedContraction(k, "NotChained", attention.why());
  OrReason<plan::GpuContractAttr> contraction = chooseContraction(k, wanted);
  if (contraction)
    return *contraction;
  missedContraction(k, "NotTiled", contraction.why());
  OrReason<RowProgram> rows = planRows(k);
  if (rows)
    return chooseRows(k, *rows);
  missedReductions(k, rows.why());
  if (graph::PrefixScanOpInterface op = onlyCumulates(k))
    return chooseCumulate(k, op);
  OrReason<plan::GpuTransposeAttr> transpose = chooseTranspose(k, b);
  if (transpose)
    return *transpose;
  missedTransposes(k, transpose.why());
  return chooseMap(k, b);
}

} // namespace hewn::codegen
