// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/WinogradSchedule.h"
#include "dialects/Graph/Quant/Quant.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

/// Row tiles are counted as this many where that is known only when run.
static constexpr int64_t kUnknownTiles = 4096;

static int64_t l2Bytes(Operation *op) {
  TargetAttr target = targetOf(op);
  return target ? target.getL2Bytes() : 512 << 10;
}

std::pair<graph::DimExpr, graph::DimExpr> winogradTiles(graph::ContractOpInterface op, int64_t tile) {
  graph::WinogradDims dims = *graph::winogradDims(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  return {extents[dims.rows[0]].ceilDiv(tile), extents[dims.rows[1]].ceilDiv(tile)};
}

/// Of a transformed weight.
static int64_t weightBytes(graph::ContractOpInterface op) { return graph::elementBytes(op->getOperand(1)); }

static int64_t placesOf(int64_t tile) {
  int64_t size = graph::winograd(tile)->size;
  return size * size;
}

int64_t winogradSlotFloats(WinogradAttr schedule, int64_t tile) {
  return placesOf(tile) * schedule.getBlock() * (schedule.getStride() + schedule.getN() * schedule.getPanels());
}

namespace {

/// How many tiles of results there are, and how many blocks they fall into; the products of one of these.
struct Blocks {
  graph::DimExpr all;
  int64_t tiles, blocks, stride;
  /// Whether the transformed weights are several times as large as the L2 cache.
  bool far;
  ContractShape products;
  /// `share`: a block is that part of what the cache has room for.
  Blocks(graph::ContractOpInterface op, int64_t tile, double share = 1) {
    graph::WinogradDims dims = *graph::winogradDims(op);
    graph::Dims extents = op.getIterationDims(graph::getDims);
    auto [down, across] = winogradTiles(op, tile);
    stride = *rowStride(op, extents[dims.channels], sizeof(float)).constant();
    // The transformed operand stays in the cache beside the weights that stream by; the more tiles, the more often each of
    // these is used. Weights much larger than that cache come from behind it again for each block: larger blocks then, also where their operand no
    // longer fits.
    constexpr int64_t fewest = 12, most = 64, farBehind = 4, mostOfABlock = 1 << 20;
    int64_t columns = extents[graph::contractRoles(op)->column].constant().value_or(0);
    int64_t placeBytes = placesOf(tile) * stride * int64_t(sizeof(float));
    far = placesOf(tile) * stride * columns * weightBytes(op) > farBehind * l2Bytes(op);
    int64_t room = std::clamp((far ? mostOfABlock : l2Bytes(op) / 4) / placeBytes, fewest, most);
    all = down * across;
    tiles = all.constant().value_or(kUnknownTiles);
    blocks = llvm::divideCeil(tiles, std::max<int64_t>(int64_t(double(room) * share), 1));
    if (blocks > 1) // of an odd number one of two threads has one more (whole register tiles may make them fewer again)
      blocks += blocks % 2;
    products = ContractShape{graph::DimExpr(int64_t(llvm::divideCeil(tiles, blocks))),
                             extents[graph::contractRoles(op)->column], stride * 4};
  }
};

} // namespace

int64_t winogradPanel(graph::ContractOpInterface op, int64_t tile) {
  return choosePanel(op, Blocks(op, tile).products);
}

/// Images of a batch, and what else is no row of a window.
static graph::DimExpr imagesOf(graph::ContractOpInterface op) {
  graph::WinogradDims dims = *graph::winogradDims(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::DimExpr images(1);
  for (unsigned d : roles.rows)
    if (d != dims.rows[0] && d != dims.rows[1])
      images = images * extents[d];
  return images;
}

bool sharesColumns(graph::ContractOpInterface op, int64_t tile, int64_t block, int64_t slots) {
  auto [down, across] = winogradTiles(op, tile);
  return slots > 1 && (imagesOf(op) * (down * across).ceilDiv(block)).is(1);
}

namespace {

/// Buffers of scratch memory, and panels of columns that one multiplies at a place before those of the next place.
struct Slots {
  int64_t count, panels;
};

} // namespace

/// `operand`, `sums`: floats of a block's transformed operand, and of the sums of a panel, of which `whole` are whole.
static Slots slotsOf(graph::ContractOpInterface op, const Blocks &all, const graph::DimExpr &blocks, int64_t operand,
                     int64_t sums, int64_t whole) {
  // A slot for each thread that is likely to be there, and more of them as far as a few megabytes go.
  constexpr int64_t fewest = 4, mostFloats = (4 << 20) / sizeof(float);
  // Weights much larger than L2 are read in the order in which they lie, all panels of a place, with that place's part of the operand in L1; else
  // one panel at a time, which needs the least memory for sums.
  int64_t panels = all.far ? whole : 1;
  if (!blocks.is(1)) {
    int64_t slots = std::clamp(mostFloats / (operand + panels * sums), fewest, kScratchSlots);
    if (std::optional<int64_t> count = blocks.constant(); count && *count > 0) // as few as have no more blocks each
      slots = llvm::divideCeil(*count, llvm::divideCeil(*count, slots));
    return {slots, panels};
  }
  // The only block has columns for several threads, and one alone then has the sums of all of them at once.
  bool mayShare = all.far || (operand + whole * sums) * int64_t(sizeof(float)) <= 2 * l2Bytes(op);
  if (!mayShare || whole == 1)
    return {1, panels};
  panels = llvm::divideCeil(whole, std::clamp((mostFloats - whole * sums) / operand, fewest, kScratchSlots));
  return {int64_t(llvm::divideCeil(whole, panels)), panels};
}

static WinogradAttr scheduleBy(graph::ContractOpInterface op, int64_t tile, const Blocks &all,
                               const ContractTile &products) {
  int64_t block = llvm::alignTo(llvm::divideCeil(all.tiles, all.blocks), products.m);
  int64_t columns = op.getIterationDims(graph::getDims)[graph::contractRoles(op)->column].constant().value_or(0);
  Slots slots = slotsOf(op, all, imagesOf(op) * all.all.ceilDiv(block), placesOf(tile) * block * all.stride,
                        placesOf(tile) * block * products.n, std::max<int64_t>(columns / products.n, 1));
  return WinogradAttr::get(op->getContext(), block, products.m, products.n, contractLanes(op, all.products), all.stride,
                           slots.count, slots.panels);
}

WinogradAttr winogradSchedule(graph::ContractOpInterface op, int64_t tile, int64_t panel) {
  Blocks all(op, tile);
  return scheduleBy(op, tile, all, chooseContractTile(op, all.products, panel));
}

SmallVector<WinogradAttr> winogradSchedules(graph::ContractOpInterface op, int64_t tile, int64_t panel) {
  SmallVector<WinogradAttr> schedules;
  auto add = [&](const Blocks &all, const ContractTile &products) {
    WinogradAttr schedule = scheduleBy(op, tile, all, products);
    if (!llvm::is_contained(schedules, schedule))
      schedules.push_back(schedule);
  };
  Blocks all(op, tile);
  for (const ContractTile &products : contractTiles(op, all.products, panel))
    add(all, products);
  for (double share : {0.5, 2.0}) {
    Blocks other(op, tile, share);
    add(other, chooseContractTile(op, other.products, panel));
  }
  return schedules;
}

int64_t largestWinogradTile(Precision precision) { return precision == Precision::Highest ? 2 : 4; }

int64_t largestWinogradTile(graph::ContractOpInterface op, int64_t otherwise) {
  constexpr int64_t largest = 4;
  bool isQuantized = graph::isDequantized(op->getOperand(0)) && graph::isOnlyQuantized(op->getResult(0));
  int64_t tile = otherwise > 0 && isQuantized ? largest : otherwise;
  return graph::getElementType(op->getOperand(1)).isF16() ? std::min(tile, kLargestHalfTile) : tile;
}

int64_t chooseWinogradTile(graph::ContractOpInterface op, int64_t maxTile, double rate) {
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
    if (tile > maxTile)
      break;
    const graph::Winograd &f = *graph::winograd(tile);
    int64_t block = winogradSchedule(op, tile, winogradPanel(op, tile)).getBlock();
    double planes = double(f.size * f.size), size = double(f.size), out = double(tile);
    double tiles = double(llvm::divideCeil(height, tile) * llvm::divideCeil(width, tile));
    double blocks = double(llvm::divideCeil(int64_t(tiles), block));
    double products = blocks * double(block) * planes * double(channels) * vectors(columns);
    // Each element of a tile is loaded and stored, and goes through two sums of about three terms.
    double input = tiles * vectors(channels) * planes * 8, output = tiles * vectors(columns) * size * (size + out) * 5;
    // Weights come from L2, as fast as they are used, or from behind it. Those of float16 are counted as float32s, so that no more windows are
    // transformed, which makes weights longer, where models come with half the bytes.
    double bytes = planes * double(channels) * double(columns) * sizeof(float);
    double each = bytes > double(l2Bytes(op)) / 2 ? double(costsOf(op).getL2MissCost()) / 100 : 1;
    double stream = blocks * bytes / double(target.getVectorBytes()) * each;
    double cost = products + input + output + stream;
    if (cost < best) {
      best = cost;
      chosen = tile;
    }
  }
  return chosen;
}

} // namespace hewn::plan
