// SPDX-License-Identifier: Apache-2.0
//
// The GEMMs of fused attention on 16-bit floats (GpuAttention.h), 16 elements along K at a time.
#include "lib/Target/NVPTX/Kernels/Attention/GpuAttention.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

/// Elements along K of one 16-bit matrix instruction, which are two fragments.
constexpr int64_t kNarrowDepth = 16;

/// Loads the fragment of q with 16 rows and 16 elements along K.
Tf32Split::Fragment GpuAttention::narrowQuery(int64_t step, int64_t sixteen) {
  Index row = e.mul(warpHigh, e.constant(spread.warpRows()));
  return Tf32Split::whole(queries.matrices(row, sixteen * kInstructionRows, step, AttentionTile::Order::LinesFirst));
}

/// Waits until q has been staged, and loads its rows into registers. The copy of the first tile of
/// k may still be in flight.
void GpuAttention::keepQueries() {
  kept.clear();
  if (!keepsQueries())
    return;
  gpu.waitForCopies(1);
  gpu.barrier();
  for (int64_t step = 0; step < depth; step += kNarrowDepth)
    for (int64_t sixteen = 0; sixteen < spread.rowTiles; ++sixteen)
      kept.push_back(narrowQuery(step, sixteen));
  e.forget();
}

SmallVector<Value> GpuAttention::narrowScores() {
  const int64_t count = spread.columns / kFragment, sixteens = spread.rowTiles;
  SmallVector<Tf32Split::Sum> sums(count * sixteens, products.begin(SmallVector<Value>(4, number(0))));
  for (int64_t step = 0; step < depth; step += kNarrowDepth) {
    SmallVector<Tf32Split::Fragment> lefts;
    for (int64_t m = 0; m < sixteens; ++m)
      lefts.push_back(kept.empty() ? narrowQuery(step, m) : kept[size_t(step / kNarrowDepth * sixteens + m)]);
    for (int64_t i = 0; i < count; i += 2) {
      // Load two fragments of k. Each has both halves of K, and its two registers are adjacent, as
      // the instruction requires.
      SmallVector<Value> words = keys.matrices(warpColumn, i * kFragment, step, AttentionTile::Order::AlongFirst);
      for (auto [m, left] : llvm::enumerate(lefts)) {
        size_t at = size_t(i * sixteens) + m;
        products.multiply(sums[at], left, Tf32Split::whole({words[0], words[1]}), factors);
        products.multiply(sums[at + size_t(sixteens)], left, Tf32Split::whole({words[2], words[3]}), factors);
      }
    }
  }
  SmallVector<Value> all;
  for (const Tf32Split::Sum &sum : sums)
    llvm::append_range(all, products.finish(sum));
  return all;
}

/// Rounds two float32 numbers to the 16-bit float type `narrow` and packs them into a 32-bit
/// register.
static Value packed(OpBuilder &b, Location loc, Value low, Value high, Type narrow) {
  Value pair = vector::FromElementsOp::create(b, loc, VectorType::get({2}, b.getF32Type()), ValueRange{low, high});
  pair = arith::TruncFOp::create(b, loc, VectorType::get({2}, narrow), pair);
  Value word = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()), pair);
  return vector::ExtractOp::create(b, loc, word, 0);
}

SmallVector<Value> GpuAttention::addNarrowValues(ArrayRef<Value> sums, ArrayRef<Value> weights) {
  // `eight` is the number of accumulators that a lane has of eight columns
  const size_t sixteens = size_t(spread.rowTiles), eight = 4 * sixteens;
  SmallVector<SmallVector<Tf32Split::Fragment>> lefts; // indexed by 16 columns, then by 16 rows
  for (size_t i = 0; i < weights.size(); i += 2 * eight) {
    lefts.emplace_back();
    for (size_t m = 0; m < sixteens; ++m) {
      SmallVector<Value> words;
      for (size_t first : {i + 4 * m, i + 4 * m + 2, i + eight + 4 * m, i + eight + 4 * m + 2})
        words.push_back(packed(b, loc(), weights[first], weights[first + 1], factors));
      lefts.back().push_back(Tf32Split::whole(words));
    }
  }
  SmallVector<Value> all;
  for (size_t c = 0; c < sums.size(); c += 2 * eight) {
    size_t columns = c + eight < sums.size() ? 2 : 1;
    SmallVector<Tf32Split::Sum> own;
    for (size_t i = 0; i < columns * sixteens; ++i)
      own.push_back(products.begin(sums.slice(c + 4 * i, 4)));
    for (auto [i, left] : llvm::enumerate(lefts)) {
      SmallVector<Value> words = values.matrices(warpColumn, int64_t(i) * kNarrowDepth, int64_t(c / eight) * kFragment,
                                                 AttentionTile::Order::LinesFirst, /*turned=*/true);
      for (size_t column = 0; column < columns; ++column)
        for (size_t m = 0; m < sixteens; ++m)
          products.multiply(own[column * sixteens + m], left[m],
                            Tf32Split::whole({words[2 * column], words[2 * column + 1]}), factors);
    }
    for (const Tf32Split::Sum &sum : own)
      llvm::append_range(all, products.finish(sum));
  }
  return all;
}

} // namespace hewn::codegen
