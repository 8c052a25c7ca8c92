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
GridFactors::Fragment GridChain::narrowQuery(int64_t step) {
  Index row = e.mul(warpHigh, e.constant(kWarpRows));
  return GridFactors::whole(queries.matrices(row, 0, step, GridLines::Order::LinesFirst));
}

/// Behind the copies of q and of the first lines of k.
void GridChain::keepQueries() {
  kept.clear();
  if (!keepsQueries())
    return;
  grid.waitForCopies(1);
  grid.barrier();
  for (int64_t step = 0; step < depth; step += kNarrowDepth)
    kept.push_back(narrowQuery(step));
  e.forget();
}

SmallVector<Value> GridChain::narrowScores() {
  int64_t count = spread.columns / kFragment;
  SmallVector<GridFactors::Sum> sums(count, products.begin(SmallVector<Value>(4, number(0))));
  for (int64_t step = 0; step < depth; step += kNarrowDepth) {
    GridFactors::Fragment left = kept.empty() ? narrowQuery(step) : kept[size_t(step / kNarrowDepth)];
    for (int64_t i = 0; i < count; i += 2) {
      // Lines of two fragments, each with both halves of the sum: words of one are neighbours, as the instruction takes them.
      SmallVector<Value> words = keys.matrices(warpColumn, i * kFragment, step, GridLines::Order::AlongFirst);
      products.multiply(sums[i], left, GridFactors::whole({words[0], words[1]}), factors);
      products.multiply(sums[i + 1], left, GridFactors::whole({words[2], words[3]}), factors);
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
  SmallVector<GridFactors::Fragment> lefts;
  for (size_t i = 0; i < weights.size(); i += 8) {
    SmallVector<Value> words;
    for (size_t pair = 0; pair < 8; pair += 2)
      words.push_back(packed(b, loc(), weights[i + pair], weights[i + pair + 1], factors));
    lefts.push_back(GridFactors::whole(words));
  }
  SmallVector<Value> all;
  for (size_t c = 0; c < sums.size(); c += 8) {
    bool two = c + 4 < sums.size();
    GridFactors::Sum one = products.begin(sums.slice(c, 4)), other = products.begin(sums.slice(two ? c + 4 : c, 4));
    int64_t inner = int64_t(c) / 4 * kFragment;
    for (auto [i, left] : llvm::enumerate(lefts)) {
      SmallVector<Value> words =
          values.matrices(warpColumn, int64_t(i) * kNarrowDepth, inner, GridLines::Order::LinesFirst, /*turned=*/true);
      products.multiply(one, left, GridFactors::whole({words[0], words[1]}), factors);
      if (two)
        products.multiply(other, left, GridFactors::whole({words[2], words[3]}), factors);
    }
    llvm::append_range(all, products.finish(one));
    if (two)
      llvm::append_range(all, products.finish(other));
  }
  return all;
}

} // namespace hewn::codegen
