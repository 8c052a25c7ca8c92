// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/WinogradSchedule.h"
#include "dialects/Graph/Quant/Quant.h"
#include "lib/Schedule/ScheduleModel.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

/// Number of Winograd tiles that the cost model assumes for a dynamic image size.
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

/// Returns the size in bytes of one element of the Winograd-transformed weights.
static int64_t weightBytes(graph::ContractOpInterface op) { return graph::elementBytes(op->getOperand(1)); }

static int64_t placesOf(int64_t tile) {
  int64_t size = graph::winograd(tile)->size;
  return size * size;
}

int64_t winogradSlotFloats(WinogradAttr schedule, int64_t tile) {
  return placesOf(tile) * schedule.getBlock() * (schedule.getStride() + schedule.getN() * schedule.getPanels());
}

namespace {

/// Division of a convolution into blocks of Winograd tiles: the number of tiles, the number of
/// blocks, and the shape of the GEMM that a block computes for each position of the tile.
struct Blocks {
  graph::DimExpr all;
  int64_t tiles, blocks, stride;
  /// True if the Winograd-transformed weights are several times as large as the L2 cache.
  bool far;
  ContractShape products;
  /// Divides the convolution into blocks. `share`: factor by which a block is larger or smaller
  /// than the L2 cache suggests.
  Blocks(graph::ContractOpInterface op, int64_t tile, double share = 1) {
    graph::WinogradDims dims = *graph::winogradDims(op);
    graph::Dims extents = op.getIterationDims(graph::getDims);
    auto [down, across] = winogradTiles(op, tile);
    stride = *rowStride(op, extents[dims.channels], sizeof(float)).constant();
    // The transformed input of a block should stay in the L2 cache while the weights are streamed.
    // Larger blocks use each weight more often. If the weights are several times as large as the L2
    // cache (`far`), they are loaded from beyond L2 again for each block. Blocks are then as large
    // as possible, even if their transformed input does not fit the cache.
    constexpr int64_t fewest = 12, most = 64, farBehind = 4, mostOfABlock = 1 << 20;
    int64_t columns = extents[graph::contractRoles(op)->column].constant().value_or(0);
    int64_t placeBytes = placesOf(tile) * stride * int64_t(sizeof(float));
    far = placesOf(tile) * stride * columns * weightBytes(op) > farBehind * l2Bytes(op);
    int64_t room = std::clamp((far ? mostOfABlock : l2Bytes(op) / 4) / placeBytes, fewest, most);
    all = down * across;
    tiles = all.constant().value_or(kUnknownTiles);
    blocks = llvm::divideCeil(tiles, std::max<int64_t>(int64_t(double(room) * share), 1));
    // An even number of blocks of Winograd tiles gives two threads equal work. Rounding the size of
    // blocks up to full register tiles may change the number of blocks again.
    if (blocks > 1)
      blocks += blocks % 2;
    products = ContractShape{graph::DimExpr(int64_t(llvm::divideCeil(tiles, blocks))),
                             extents[graph::contractRoles(op)->column], stride * 4};
  }
};

} // namespace

int64_t winogradPanel(graph::ContractOpInterface op, int64_t tile) {
  return choosePanel(op, Blocks(op, tile).products);
}

/// Returns the number of images in a batch: the extent of the row dims that are not rows or columns
/// of an image.
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

/// Scratch buffers (slots) for blocks of Winograd tiles. `count`: number of slots. `panels`: number
/// of weight panels that the kernel multiplies at one position of the Winograd tile before it
/// continues with the next position.
struct Slots {
  int64_t count, panels;
};

} // namespace

/// Chooses the slots (scratch buffers) of a Winograd kernel. `operand`: number of floats in the
/// transformed input of a block. `sums`: number of floats in the accumulators of a panel. `whole`:
/// number of panels that cover all columns.
static Slots slotsOf(graph::ContractOpInterface op, const Blocks &all, const graph::DimExpr &blocks, int64_t operand,
                     int64_t sums, int64_t whole) {
  // A Winograd kernel has at least one slot for each of four threads, and more slots as long as
  // they fit in a few megabytes of scratch memory.
  constexpr int64_t fewest = 4, mostFloats = (4 << 20) / sizeof(float);
  // Winograd weights much larger than the L2 cache are read in the order in which they are stored:
  // all panels of one tile position, while the transformed input for that position is in the L1
  // cache. Smaller weights are read one panel at a time, which needs the least memory for
  // accumulators.
  int64_t panels = all.far ? whole : 1;
  if (!blocks.is(1)) {
    int64_t slots = std::clamp(mostFloats / (operand + panels * sums), fewest, kScratchSlots);
    // reduces the number of slots to the smallest one that has the same number of blocks per slot
    if (std::optional<int64_t> count = blocks.constant(); count && *count > 0)
      slots = llvm::divideCeil(*count, llvm::divideCeil(*count, slots));
    return {slots, panels};
  }
  // If there is only one block of Winograd tiles, several threads can divide its columns. If only
  // one thread runs, that thread needs memory for the accumulators of all columns at once.
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
  if (!dims || !target || !supports(op, KernelFeature::Winograd))
    return 0;
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  int64_t lanes = vectorLanes(op), channels = *extents[dims->channels].constant();
  int64_t columns = *extents[roles.column].constant();
  auto vectors = [&](int64_t count) { return double(llvm::divideCeil(count, lanes)); };
  int64_t height = extents[dims->rows[0]].constant().value_or(64),
          width = extents[dims->rows[1]].constant().value_or(64);
  constexpr double window = graph::Winograd::window * graph::Winograd::window;
  // Costs of the direct and the Winograd convolution are in vector FMAs; a vector load or store
  // counts as one FMA.
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
    // Cost of the transforms: each element of a Winograd tile is loaded and stored once, and
    // transformed along both dims by a sum of about three summands.
    double input = tiles * vectors(channels) * planes * 8, output = tiles * vectors(columns) * size * (size + out) * 5;
    // Cost of streaming the transformed weights: from L2 at the rate at which they are used, or
    // more slowly from beyond L2. float16 weights count as float32: Winograd increases the size of
    // the weights, and a model with float16 weights should not transform more of them than the
    // float32 model does.
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
