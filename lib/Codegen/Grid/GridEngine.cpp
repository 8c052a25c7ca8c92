// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/GridEngine.h"
#include "dialects/Plan/GridSchedule.h"
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Loops/LoopEngine.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

/// Threads of a block that share nothing.
constexpr int64_t kMapThreads = 256;

/// A thread an element: of results of the same dims, or of one piece of them.
static void emitMap(KernelFunction &k, Grid &grid, OpBuilder &b, ArrayRef<unsigned> results, const Piece *piece) {
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Value first = k.results[results[0]];
  Dims dims = graph::getDims(first);
  if (piece) {
    dims[piece->dim] = piece->extent;
    graph::MoveOpInterface op = piece->op;
    e.setPiece(op, piece->operand);
  }
  SmallVector<int64_t> order = memoryOrder(first);
  Dims counts = llvm::map_to_vector<4>(order, [&](int64_t d) { return dims[d]; });
  grid.overThreads(counts, [&](ArrayRef<Index> indices) {
    SmallVector<Index> at(dims.size());
    for (auto [d, index] : llvm::zip(order, indices))
      at[d] = index;
    if (piece)
      at[piece->dim] = e.add(at[piece->dim], e.expression(piece->start));
    SmallVector<Value> values = llvm::map_to_vector(results, [&](unsigned r) { return e.read(k.results[r], at); });
    for (auto [r, value] : llvm::zip(results, values))
      e.write(k.outputs[r], at, value);
  });
}

void emitGrid(KernelFunction &k, OpBuilder &b) {
  if (std::optional<graph::Chain> chain = gridChain(k))
    return emitGridChain(k, b, *chain);
  if (std::optional<GridTiles> tiles = gridTiles(k)) {
    if (plan::multipliesMatrices(tiles->op))
      return emitGridMatrix(k, b, *tiles);
    if (tiles->parts == 1 && takesFew(*tiles))
      return emitGridFew(k, b, *tiles);
    if (tiles->parts == 1 && takesTiles(*tiles))
      return emitGridTiles(k, b, *tiles);
  }
  if (std::optional<RowProgram> rows = planRows(k))
    return emitGridRows(k, b, *rows);
  KernelElements e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  Grid grid(k, e, kMapThreads);
  for (const auto &together : resultsOfEqualDims(k)) {
    SmallVector<Piece> pieces = together.size() == 1 ? piecesOf(k.results[together[0]]) : SmallVector<Piece>();
    for (const Piece &piece : pieces)
      emitMap(k, grid, b, together, &piece);
    if (pieces.empty())
      emitMap(k, grid, b, together, nullptr);
  }
}

} // namespace hewn::codegen
