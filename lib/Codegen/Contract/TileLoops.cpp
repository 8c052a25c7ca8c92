// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/TileLoops.h"
#include "lib/Codegen/Contract/Sums/MatrixSums.h"
#include "lib/Codegen/Contract/Sums/VectorSums.h"
#include "lib/Codegen/Contract/TileEpilogue.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

void withPanel(const ContractKernel &c, Index panel, llvm::function_ref<void(const Panel &, Index)> body) {
  ElementEmitter &e = c.e;
  int64_t n = c.tileColumns(), vectors = n / e.lanes;
  Index firstColumn = e.mul(panel, e.constant(n));
  auto withColumns = [&](std::optional<int64_t> rest) { // number of columns of the panel, if static
    Panel chosen;
    chosen.vectors = rest ? (*rest + e.lanes - 1) / e.lanes : vectors;
    chosen.masks.resize(chosen.vectors);
    for (int64_t j = 0; j < chosen.vectors; ++j)
      if (!rest || *rest < (j + 1) * e.lanes) {
        Index left = rest ? e.constant(*rest - j * e.lanes)
                          : e.sub(e.expression(c.columns), e.add(firstColumn, e.constant(j * e.lanes)));
        chosen.masks[j] =
            vector::CreateMaskOp::create(c.b, c.loc(), VectorType::get({e.lanes}, c.b.getI1Type()), left.base);
      }
    body(chosen, firstColumn);
  };
  std::optional<int64_t> count = c.columns.constant();
  if (!count)
    return withColumns(std::nullopt);
  int64_t rest = *count % n, whole = *count / n;
  if (rest == 0)
    return withColumns(n);
  if (whole == 0)
    return withColumns(rest);
  Value isLast = e.compare(arith::CmpIPredicate::eq, panel, e.constant(whole));
  e.branch(isLast, [&] { withColumns(rest); }, [&] { withColumns(n); });
}

void TileLoops::run() {
  // The column panel is the outer loop, so that a panel stays in the cache while all rows use it.
  // In a depthwise convolution (both operands have the column dim), rows share no panel, and each
  // row is read from end to end.
  const ContractForm &form = c.form;
  SmallVector<unsigned> outer(form.roles.batch);
  if (form.roles.columnInLeft)
    llvm::append_range(outer, form.outerRows);
  size_t panelAt = outer.size();
  Dims counts = c.extentsOf(outer);
  counts.push_back(c.columns.ceilDiv(c.tileColumns()));
  if (!form.roles.columnInLeft) {
    llvm::append_range(outer, form.outerRows);
    llvm::append_range(counts, c.extentsOf(form.outerRows));
  }
  counts.push_back(form.rows.ceilDiv(c.tileRows()));
  overTasks(c.k, e, counts, vectorWork(graph::numElements(form.extents), e.lanes * form.group(), 1),
            [&](ArrayRef<Index> indices) {
              Point at = c.origin();
              unsigned next = 0;
              for (unsigned i = 0; i + 1 < indices.size(); ++i)
                if (i != panelAt)
                  at[outer[next++]] = indices[i];
              overPanel(at, indices[panelAt], indices.back());
            });
}

void TileLoops::overAllRows(Index panel) {
  Dims counts = c.extentsOf(c.form.outerRows);
  counts.push_back(c.form.rows.ceilDiv(c.tileRows()));
  e.loopNest(counts, {}, 1, [&](ArrayRef<Index> indices, ValueRange) -> SmallVector<Value> {
    Point at = c.origin();
    for (auto [d, index] : llvm::zip(c.form.outerRows, indices))
      at[d] = index;
    overPanel(at, panel, indices.back());
    return {};
  });
}

void TileLoops::overPanel(const Point &at, Index panel, Index tile) {
  withPanel(c, panel, [&](const Panel &chosen, Index firstColumn) {
    Tile in{chosen, at, {}, {}, {}};
    in.at[c.form.roles.column] = firstColumn;
    overRows(in, tile);
  });
}

SmallVector<SmallVector<bool>> TileLoops::insideOf(int64_t firstRow, int64_t rows) const {
  const Clip *clip = c.form.tiledClip();
  if (!clip)
    return {};
  SmallVector<SmallVector<bool>> inside;
  bool all = true;
  int64_t extent = *clip->extent.constant();
  for (int64_t w = 0; w < *c.form.extents[clip->summed].constant(); ++w) {
    inside.emplace_back();
    for (int64_t r = 0; r < rows; ++r) {
      int64_t position = (firstRow + r) * clip->stride + w * clip->dilation - clip->low;
      inside.back().push_back(position >= 0 && position < extent);
      all &= inside.back().back();
    }
  }
  return all ? SmallVector<SmallVector<bool>>() : inside;
}

/// Returns the indices of the tiles of `m` rows at which the set of rows inside of the input may
/// change, in ascending order and beginning with 0. Each window offset enters and leaves the input
/// once, so the number of these tiles does not depend on the number of rows.
static SmallVector<int64_t> tilesThatDiffer(const ContractForm &form, int64_t rows, int64_t m) {
  SmallVector<int64_t> tiles = {0, rows / m};
  if (const Clip *clip = form.tiledClip())
    for (int64_t w = 0; w < *form.extents[clip->summed].constant(); ++w)
      for (int64_t edge : {int64_t(0), *clip->extent.constant()}) {
        int64_t row = llvm::divideCeilSigned(edge + clip->low - w * clip->dilation, clip->stride);
        tiles.append({row / m, row / m + 1});
      }
  llvm::erase_if(tiles, [&](int64_t t) { return t < 0 || t * m >= rows; });
  llvm::sort(tiles);
  tiles.erase(llvm::unique(tiles), tiles.end());
  return tiles;
}

SmallVector<TileLoops::Variant> TileLoops::rowVariants() const {
  SmallVector<Variant> variants;
  if (c.form.clipsWhenRun())
    return variants;
  int64_t rows = c.form.rows.constant().value_or(0), m = c.tileRows();
  SmallVector<int64_t> tiles = tilesThatDiffer(c.form, rows, m);
  for (auto [i, t] : llvm::enumerate(tiles)) {
    int64_t count = std::min(m, rows - t * m),
            last = i + 1 < tiles.size() ? tiles[i + 1] - 1 : llvm::divideCeil(rows, m) - 1;
    Variant variant{t, last, count, insideOf(t * m, count)};
    if (!variants.empty() && variants.back().sameCode(variant))
      variants.back().last = last;
    else
      variants.push_back(std::move(variant));
  }
  return variants;
}

void TileLoops::overRows(const Tile &in, Index tile) {
  if (c.form.matrix)
    return overMatrixRows(in, tile);
  if (!variants.empty())
    return choose(variants, in, tile);
  Index first = e.mul(tile, e.constant(c.tileRows())), rest = e.sub(e.expression(c.form.rows), first);
  c.form.clipsWhenRun() ? clippedRows(in, first, rest) : unknownRows(in, first, rest, c.tileRows());
}

void TileLoops::clippedRows(const Tile &in, Index first, Index rest) {
  Tile whole = in;
  whole.at[*c.form.tiled] = first;
  for (int64_t r = 0; r < c.tileRows(); ++r)
    whole.rows.push_back(e.constant(r));
  Tile part = whole;
  part.rest = rest;
  part.zeros = zeros;
  SmallVector<Value> sums = vectorSums(c, part);
  // rows past the end repeat the last row, as in emitTile
  for (Index &row : MutableArrayRef(part.rows).drop_front())
    row = e.min(row, e.sub(rest, e.constant(1)));
  if (c.tileRows() == 1)
    return storeTile(c, whole, sums);
  e.branch(
      e.compare(arith::CmpIPredicate::sge, rest, e.constant(c.tileRows())), [&] { storeTile(c, whole, sums); },
      [&] { storeTile(c, part, sums); });
}

void TileLoops::overMatrixRows(const Tile &in, Index tile) {
  int64_t m = c.tileRows();
  Index rows = e.expression(c.form.rows), start = e.mul(tile, e.constant(m));
  auto whole = [&] {
    Tile here = in;
    Index first = e.min(start, e.sub(rows, e.constant(m)));
    here.at[*c.form.tiled] = first;
    emitMatrixTile(c, here, e.sub(start, first));
  };
  if (c.form.rows.constant())
    return whole();
  int64_t most = c.schedule.getVectorRows();
  e.branch(e.compare(arith::CmpIPredicate::sge, rows, e.constant(m)), whole, [&] {
    e.forEach(e.constant(0), rows, most, [&](Index first) { unknownRows(in, first, e.sub(rows, first), most); });
  });
}

void TileLoops::unknownRows(const Tile &in, Index first, Index rest, int64_t maxRows) {
  auto tile = [&](int64_t rows, bool all) {
    emitTile(in, Variant{0, 0, rows, {}}, first, all ? std::nullopt : std::optional(rest));
  };
  auto atLeast = [&](int64_t rows) { return e.compare(arith::CmpIPredicate::sge, rest, e.constant(rows)); };
  int64_t half = maxRows / 2;
  auto some = [&] {
    if (half < 2)
      return tile(maxRows, false);
    e.branch(atLeast(half + 1), [&] { tile(maxRows, false); }, [&] { tile(half, false); });
  };
  auto notFull = [&] { e.branch(atLeast(2), some, [&] { tile(1, true); }); };
  if (maxRows == 1)
    return tile(1, true);
  e.branch(atLeast(maxRows), [&] { tile(maxRows, true); }, notFull);
}

void TileLoops::choose(ArrayRef<Variant> variants, const Tile &in, Index tile) {
  int64_t m = c.tileRows();
  if (variants.size() == 1) {
    const Variant &only = variants[0];
    Index first = only.first == only.last ? e.constant(only.first * m) : e.mul(tile, e.constant(m));
    return emitTile(in, only, first, {});
  }
  const Variant *test = variants.begin();
  for (const Variant &variant : variants)
    if (variant.last - variant.first < test->last - test->first)
      test = &variant;
  SmallVector<Variant> others;
  for (const Variant &variant : variants)
    if (&variant != test)
      others.push_back(variant);
  Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::sge, tile, e.constant(test->first)),
                              e.compare(arith::CmpIPredicate::sle, tile, e.constant(test->last)));
  if (test->first == test->last)
    inside = e.compare(arith::CmpIPredicate::eq, tile, e.constant(test->first));
  e.branch(inside, [&] { choose(*test, in, tile); }, [&] { choose(others, in, tile); });
}

void TileLoops::emitTile(Tile tile, const Variant &variant, Index firstRow, std::optional<Index> rest) {
  for (int64_t r = 0; r < variant.rows; ++r) {
    Index row = e.constant(r);
    if (rest && r > 0) // rows past the end repeat the last row; their results are not stored
      row = e.min(row, e.sub(*rest, e.constant(1)));
    tile.rows.push_back(row);
  }
  if (c.form.tiled)
    tile.at[*c.form.tiled] = firstRow;
  tile.inside = variant.inside;
  tile.rest = rest;
  storeTile(c, tile, vectorSums(c, tile));
}

} // namespace hewn::codegen
