// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/MatrixSums.h"
#include "lib/Codegen/Contract/Sums/MatrixUnit.h"
#include "lib/Codegen/Contract/TileEpilogue.h"

using namespace mlir;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// How the unit's tiles make up one of the kernel's: `down` of `rows` rows each, `across` beside each other.
struct TileGrid {
  int64_t rows, down, across;
  explicit TileGrid(const ContractKernel &c, int64_t vectors)
      : rows(std::min(c.tileRows(), plan::MatrixAttr(c.form.matrix).getRows())), down(c.tileRows() / rows),
        across(vectors) {}
};

} // namespace

/// One step of the unit over the depth: the products of all pairs of terms, from `leftAt` and `rightAt` on, added to the tiles of
/// `sums`, which lie row by row.
static void addProducts(const ContractKernel &c, MatrixUnit &unit, const TileGrid &grid, Index leftAt, Index rightAt,
                        MutableArrayRef<Value> sums) {
  KernelElements &e = c.e;
  int64_t most = plan::MatrixAttr(c.form.matrix).getRows();
  Index rowStride = e.expression(c.form.rowStride),
        wordStride = e.constant((c.packed() ? c.form.rhs.block : c.tileColumns()) * c.form.group());
  // Beside four tiles of sums there is room for four factors: two by two stay while the next pair has the same term; of one by
  // four the row stays, and columns come again from the first cache.
  bool keepsRight = grid.across <= grid.down;
  std::optional<unsigned> leftTerm, rightTerm;
  SmallVector<Value> lefts(grid.down), rights(grid.across);
  for (auto [l, r] : graph::termPairs(graph::termsOf(c.op))) {
    for (int64_t i = 0; i < grid.down && leftTerm != l; ++i) {
      Index at = e.add(leftAt, e.mul(e.constant(i * grid.rows), rowStride));
      lefts[i] = unit.load(grid.rows, c.form.leftTerm(l), at, rowStride);
    }
    for (int64_t j = 0; j < grid.across; ++j) {
      if (rightTerm != r)
        rights[j] = unit.load(most, c.form.rightTerm(r), e.add(rightAt, c.rightDistance(j)), wordStride);
      for (int64_t i = 0; i < grid.down; ++i)
        sums[i * grid.across + j] = unit.product(grid.rows, sums[i * grid.across + j], lefts[i], rights[j]);
    }
    leftTerm = l;
    if (keepsRight)
      rightTerm = r;
  }
}

void emitMatrixTile(const ContractKernel &c, const Tile &tile, Index fresh) {
  KernelElements &e = c.e;
  MatrixUnit unit(c.b, c.loc(), c.form.matrix);
  TileGrid grid(c, tile.panel.vectors);
  int64_t width = grid.across * e.lanes;
  Index left = c.offset(c.form.lhs, c.form.maps[0], tile.at), right = c.offset(c.form.rhs, c.form.maps[1], tile.at);
  SmallVector<SumLoop> loops = c.sumLoops(plan::MatrixAttr(c.form.matrix).getDepth());
  Dims counts = llvm::map_to_vector<4>(loops, [](const SumLoop &l) { return l.extent; });
  SmallVector<Value> sums;
  for (int64_t i = 0; i < grid.down * grid.across; ++i) // one each: tiles can't be copied
    sums.push_back(unit.zero(grid.rows));
  sums = e.loopNest(counts, sums, 1, [&](ArrayRef<Index> indices, ValueRange carried) {
    Index leftAt = left, rightAt = right;
    for (auto [loop, index] : llvm::zip(loops, indices)) {
      leftAt = e.add(leftAt, e.mul(index, e.expression(loop.left)));
      rightAt = e.add(rightAt, e.mul(index, e.expression(loop.right)));
    }
    SmallVector<Value> next(carried);
    addProducts(c, unit, grid, leftAt, rightAt, next);
    return next;
  });
  Value stack = c.stackFor(c.tileRows() * width);
  for (int64_t i = 0; i < grid.down; ++i)
    for (int64_t j = 0; j < grid.across; ++j)
      unit.store(sums[i * grid.across + j], grid.rows, stack, e.constant(i * grid.rows * width + j * e.lanes),
                 e.constant(width));
  storeRows(c, tile, stack, fresh, e.constant(c.tileRows()));
}

} // namespace hewn::codegen
