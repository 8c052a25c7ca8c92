// SPDX-License-Identifier: Apache-2.0
//
// The products of a chain whose factors are narrow floats (GridChain.h), sixteen places of the sum at a time.
#include "lib/Codegen/Grid/Chain/GridChain.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

/// Places of the sum of one instruction: of two fragments.
constexpr int64_t kNarrowDepth = 16;

/// Sixteen rows of q, at sixteen places of the sum.
GridFactors::Fragment GridChain::narrowQuery(int64_t step, int64_t sixteen) {
  Index row = e.mul(warpHigh, e.constant(spread.warpRows()));
  return GridFactors::whole(queries.matrices(row, sixteen * kInstructionRows, step, GridLines::Order::LinesFirst));
}

/// Behind the copies of q and of the first lines of k.
void GridChain::keepQueries() {
  kept.clear();
  if (!keepsQueries())
    return;
  grid.waitForCopies(1);
  grid.barrier();
  for (int64_t step = 0; step < depth; step += kNarrowDepth)
    for (int64_t sixteen = 0; sixteen < spread.rowTiles; ++sixteen)
      kept.push_back(narrowQuery(step, sixteen));
  e.forget();
}

SmallVector<Value> GridChain::narrowScores() {
  const int64_t count = spread.columns / kFragment, sixteens = spread.rowTiles;
  SmallVector<GridFactors::Sum> sums(count * sixteens, products.begin(SmallVector<Value>(4, number(0))));
  for (int64_t step = 0; step < depth; step += kNarrowDepth) {
    SmallVector<GridFactors::Fragment> lefts;
    for (int64_t m = 0; m < sixteens; ++m)
      lefts.push_back(kept.empty() ? narrowQuery(step, m) : kept[size_t(step / kNarrowDepth * sixteens + m)]);
    for (int64_t i = 0; i < count; i += 2) {
      // Lines of two fragments, each with both halves of the sum: words of one are neighbours, as the instruction takes them.
      SmallVector<Value> words = keys.matrices(warpColumn, i * kFragment, step, GridLines::Order::AlongFirst);
      for (auto [m, left] : llvm::enumerate(lefts)) {
        size_t at = size_t(i * sixteens) + m;
        products.multiply(sums[at], left, GridFactors::whole({words[0], words[1]}), factors);
        products.multiply(sums[at + size_t(sixteens)], left, GridFactors::whole({words[2], words[3]}), factors);
      }
    }
  }
  SmallVector<Value> all;
  for (const GridFactors::Sum &sum : sums)
    llvm::append_range(all, products.finish(sum));
  return all;
}

/// Two numbers as one word of narrow floats.
static Value packed(OpBuilder &b, Location loc, Value low, Value high, Type narrow) {
  Value pair = vector::FromElementsOp::create(b, loc, VectorType::get({2}, b.getF32Type()), ValueRange{low, high});
  pair = arith::TruncFOp::create(b, loc, VectorType::get({2}, narrow), pair);
  Value word = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), pair);
  return vector::ExtractOp::create(b, loc, word, 0);
}

SmallVector<Value> GridChain::addNarrowValues(ArrayRef<Value> sums, ArrayRef<Value> weights) {
  const size_t sixteens = size_t(spread.rowTiles), eight = 4 * sixteens; // of eight columns
  SmallVector<SmallVector<GridFactors::Fragment>> lefts;                 // by sixteen columns, of each sixteen rows
  for (size_t i = 0; i < weights.size(); i += 2 * eight) {
    lefts.emplace_back();
    for (size_t m = 0; m < sixteens; ++m) {
      SmallVector<Value> words;
      for (size_t first : {i + 4 * m, i + 4 * m + 2, i + eight + 4 * m, i + eight + 4 * m + 2})
        words.push_back(packed(b, loc(), weights[first], weights[first + 1], factors));
      lefts.back().push_back(GridFactors::whole(words));
    }
  }
  SmallVector<Value> all;
  for (size_t c = 0; c < sums.size(); c += 2 * eight) {
    size_t columns = c + eight < sums.size() ? 2 : 1;
    SmallVector<GridFactors::Sum> own;
    for (size_t i = 0; i < columns * sixteens; ++i)
      own.push_back(products.begin(sums.slice(c + 4 * i, 4)));
    for (auto [i, left] : llvm::enumerate(lefts)) {
      SmallVector<Value> words = values.matrices(warpColumn, int64_t(i) * kNarrowDepth, int64_t(c / eight) * kFragment,
                                                 GridLines::Order::LinesFirst, /*turned=*/true);
      for (size_t column = 0; column < columns; ++column)
        for (size_t m = 0; m < sixteens; ++m)
          products.multiply(own[column * sixteens + m], left[m],
                            GridFactors::whole({words[2 * column], words[2 * column + 1]}), factors);
    }
    for (const GridFactors::Sum &sum : own)
      llvm::append_range(all, products.finish(sum));
  }
  return all;
}

} // namespace hewn::codegen
