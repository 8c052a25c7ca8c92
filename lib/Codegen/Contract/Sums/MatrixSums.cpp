// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/MatrixSums.h"
#include "lib/Codegen/Contract/Sums/MatrixUnit.h"
#include "lib/Codegen/Contract/TileEpilogue.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// How tiles of the matrix unit form a tile of the kernel: `down` by `across` unit tiles with
/// `rows` rows each.
struct TileGrid {
  int64_t rows, down, across;
  explicit TileGrid(const ContractKernel &c, int64_t vectors)
      : rows(std::min(c.tileRows(), plan::MatrixUnitAttr(c.form.matrix).getRows())), down(c.tileRows() / rows),
        across(vectors) {}
};

} // namespace

/// Emits one K step of the matrix unit: multiplies the elements at `leftAt` and `rightAt`, for all
/// pairs of split-bf16 components, and adds the products to the accumulator tiles `sums`, which are
/// row-major.
static void addProducts(const ContractKernel &c, MatrixUnit &unit, const TileGrid &grid, Index leftAt, Index rightAt,
                        MutableArrayRef<Value> sums) {
  ElementEmitter &e = c.e;
  int64_t most = plan::MatrixUnitAttr(c.form.matrix).getRows();
  Index rowStride = e.expression(c.form.rowStride),
        wordStride = e.constant((c.packed() ? c.form.rhs.block : c.tileColumns()) * c.form.group());
  // Four of the eight tile registers are accumulators, which leaves four for operands. With 2 x 2
  // accumulators, an operand stays in its register while consecutive pairs of split-bf16 components
  // have the same component of this operand. With 1 x 4 accumulators, only the left operand stays;
  // the right tiles are reloaded from the L1 cache.
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

/// Number of consecutive additions along K to an accumulator of the matrix unit, at most. To add
/// the accumulators to an outer sum takes as long as several K steps, because they go through
/// memory. The block is therefore longer than that of vector accumulators.
constexpr int64_t kMatrixBlock = 4096;

namespace {

/// Emits a block of the loops over K: gets the extents of its loops, the memory for its sums, and a
/// function from the loops' indices to those along K.
using EmitBlock =
    llvm::function_ref<void(ArrayRef<DimExpr>, Value, llvm::function_ref<SmallVector<Index>(ArrayRef<Index>)>)>;

} // namespace

/// Emits the loop over K, of `extent` steps, in blocks of at most `most` steps. Adds the blocks'
/// sums in `memory`, which has `count` elements.
static void overBlocks(const ContractKernel &c, const DimExpr &extent, int64_t most, Value memory, int64_t count,
                       EmitBlock block) {
  ElementEmitter &e = c.e;
  Value partial = c.stackFor(count);
  auto overVectors = [&](llvm::function_ref<void(Index)> body) {
    e.forEach(e.constant(0), e.constant(count), e.lanes, body);
  };
  Value zero = arith::ConstantOp::create(c.b, c.loc(), c.b.getZeroAttr(c.sumType()));
  overVectors([&](Index at) { vector::StoreOp::create(c.b, c.loc(), zero, memory, at.base); });
  auto blockOf = [&](Index first, const DimExpr &steps) {
    block({steps}, partial, [&](ArrayRef<Index> at) { return SmallVector<Index>{e.add(first, at[0])}; });
    overVectors([&](Index at) {
      Value sum = vector::LoadOp::create(c.b, c.loc(), c.sumType(), memory, at.base);
      Value more = vector::LoadOp::create(c.b, c.loc(), c.sumType(), partial, at.base);
      vector::StoreOp::create(c.b, c.loc(), arith::AddFOp::create(c.b, c.loc(), sum, more), memory, at.base);
    });
  };
  DimExpr whole = extent.floorDiv(most), rest = extent.mod(most);
  e.forEach(e.constant(0), e.expression(whole * DimExpr(most)), most,
            [&](Index first) { blockOf(first, DimExpr(most)); });
  if (!rest.is(0))
    blockOf(e.expression(whole * DimExpr(most)), rest);
}

void emitMatrixTile(const ContractKernel &c, const Tile &tile, Index fresh) {
  ElementEmitter &e = c.e;
  MatrixUnit unit(c.b, c.loc(), c.form.matrix);
  TileGrid grid(c, tile.panel.vectors);
  int64_t width = grid.across * e.lanes;
  Index left = c.offset(c.form.lhs, c.form.maps[0], tile.at), right = c.offset(c.form.rhs, c.form.maps[1], tile.at);
  SmallVector<SumLoop> loops = c.sumLoops(plan::MatrixUnitAttr(c.form.matrix).getDepth());
  Dims counts = llvm::map_to_vector<4>(loops, [](const SumLoop &l) { return l.extent; });
  auto products = [&](ArrayRef<Index> indices, ValueRange carried) {
    Index leftAt = left, rightAt = right;
    for (auto [loop, index] : llvm::zip(loops, indices)) {
      leftAt = e.add(leftAt, e.mul(index, e.expression(loop.left)));
      rightAt = e.add(rightAt, e.mul(index, e.expression(loop.right)));
    }
    SmallVector<Value> next(carried);
    addProducts(c, unit, grid, leftAt, rightAt, next);
    return next;
  };
  // Emits the loops `inner` from zero accumulators, and stores these to `memory`.
  auto block = [&](ArrayRef<DimExpr> inner, Value memory, auto at) {
    SmallVector<Value> sums;
    // Create a separate zero op for each accumulator tile, because tile registers cannot be copied.
    for (int64_t i = 0; i < grid.down * grid.across; ++i)
      sums.push_back(unit.zero(grid.rows));
    sums = e.loopNest(inner, sums, 1,
                      [&](ArrayRef<Index> indices, ValueRange carried) { return products(at(indices), carried); });
    for (int64_t i = 0; i < grid.down; ++i)
      for (int64_t j = 0; j < grid.across; ++j)
        unit.store(sums[i * grid.across + j], grid.rows, memory, e.constant(i * grid.rows * width + j * e.lanes),
                   e.constant(width));
  };
  Value stack = c.stackFor(c.tileRows() * width);
  int64_t most = std::max<int64_t>(kMatrixBlock / plan::MatrixUnitAttr(c.form.matrix).getDepth(), 1);
  bool isFloat = isa<FloatType>(c.sumType().getElementType());
  if (isFloat && counts.size() == 1 && counts[0].constant().value_or(most + 1) > most)
    overBlocks(c, counts[0], most, stack, c.tileRows() * width, block);
  else
    block(counts, stack, [](ArrayRef<Index> indices) { return SmallVector<Index>(indices); });
  storeRows(c, tile, stack, fresh, e.constant(c.tileRows()));
}

} // namespace hewn::codegen
