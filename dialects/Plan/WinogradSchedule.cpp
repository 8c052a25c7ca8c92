// SPDX-License-Identifier: Apache-2.0
#include "dialects/Plan/WinogradSchedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

/// Row tiles are counted as this many where that is known only when run.
static constexpr int64_t kUnknownTiles = 4096;

static int64_t l2Bytes(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? target.getL2Bytes() : 512 << 10;
}

WinogradSchedule winogradSchedule(graph::ContractOpInterface op, int64_t tile, int64_t panel) {
  graph::WinogradDims dims = *graph::winogradDims(op);
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  WinogradSchedule s;
  s.down = extents[dims.rows[0]].ceilDiv(tile);
  s.across = extents[dims.rows[1]].ceilDiv(tile);
  s.stride = *rowStride(extents[dims.channels], sizeof(float)).constant();
  int64_t planes = graph::winograd(tile)->size * graph::winograd(tile)->size;
  // The transformed operand stays in the cache beside the weights that stream by; the more tiles, the more often each of
  // these is used.
  constexpr int64_t fewest = 12, most = 64;
  int64_t room = std::clamp(l2Bytes(op) / 4 / (planes * s.stride * 4), fewest, most);
  graph::DimExpr all = s.down * s.across;
  int64_t tiles = all.constant().value_or(kUnknownTiles), blocks = llvm::divideCeil(tiles, room);
  ContractShape shape{graph::DimExpr(int64_t(llvm::divideCeil(tiles, blocks))), extents[roles.column], s.stride * 4};
  s.lanes = contractLanes(op, shape);
  s.panel = panel ? panel : choosePanel(op, shape);
  ScheduleAttr products = chooseSchedule(op, shape, s.panel);
  s.m = products.getM();
  s.n = products.getN();
  s.block = llvm::alignTo(llvm::divideCeil(tiles, blocks), s.m);
  graph::DimExpr images(1);
  for (unsigned d : roles.rows)
    if (d != dims.rows[0] && d != dims.rows[1])
      images = images * extents[d];
  // A slot for each thread that is likely to be there, and not more memory than activations take.
  constexpr int64_t mostSlots = 16, fewestSlots = 4, mostBytes = 4 << 20;
  int64_t floats = planes * s.block * (s.stride + s.n);
  int64_t slots = std::clamp(mostBytes / (floats * 4), fewestSlots, mostSlots);
  slots = std::min(slots, (images * all.ceilDiv(s.block)).constant().value_or(slots));
  s.scratch = {graph::DimExpr(slots), graph::DimExpr(floats)};
  return s;
}

int64_t chooseWinogradTile(graph::ContractOpInterface op, int64_t most, double rate) {
  std::optional<graph::WinogradDims> dims = graph::winogradDims(op);
  TargetAttr target = targetOf(op);
  if (!dims || !target || gridOf(op)) // whose engine has no such form
    return 0;
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  int64_t lanes = vectorLanes(op), channels = *extents[dims->channels].constant();
  int64_t columns = *extents[roles.column].constant();
  auto vectors = [&](int64_t count) { return double(llvm::divideCeil(count, lanes)); };
  int64_t height = extents[dims->rows[0]].constant().value_or(64),
          width = extents[dims->rows[1]].constant().value_or(64);
  constexpr double window = graph::Winograd::window * graph::Winograd::window;
  // In products of a vector, which a load or a store costs as much as.
  double direct = double(height * width) * window * double(channels) * vectors(columns), best = 0.75 * direct / rate;
  int64_t chosen = 0;
  for (int64_t tile : {2, 4}) {
    if (tile > most)
      break;
    const graph::Winograd &f = *graph::winograd(tile);
    WinogradSchedule s = winogradSchedule(op, tile, 0);
    double planes = double(f.size * f.size), size = double(f.size), out = double(tile);
    double tiles = double(llvm::divideCeil(height, tile) * llvm::divideCeil(width, tile));
    double blocks = double(llvm::divideCeil(int64_t(tiles), s.block));
    double products = blocks * double(s.block) * planes * double(channels) * vectors(columns);
    // Each element of a tile is loaded and stored, and goes through two sums of about three terms.
    double input = tiles * vectors(channels) * planes * 8, output = tiles * vectors(columns) * size * (size + out) * 5;
    // Weights come from L2, or from behind it at half a vector a product.
    double bytes = planes * double(channels) * double(columns) * 4;
    double stream = blocks * bytes / double(target.getVectorBytes()) * (bytes > double(l2Bytes(op)) / 2 ? 2.5 : 1);
    double cost = products + input + output + stream;
    if (cost < best) {
      best = cost;
      chosen = tile;
    }
  }
  return chosen;
}

} // namespace hewn::plan
