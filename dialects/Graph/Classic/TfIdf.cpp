// SPDX-License-Identifier: Apache-2.0
//
// TfIdfVectorizer: how often each of a list of n-grams stands in a row. Composed: every place of the row is
// compared with every n-gram, and the places are summed.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/MoveOps.h"
#include "dialects/Graph/Reduce/ReduceOps.h"
#include "dialects/Graph/Text/Text.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// n-grams of one length, and where they stand among all.
struct NGramPool {
  int64_t length = 0;
  ArrayRef<int64_t> words;
  int64_t count() const { return int64_t(words.size()) / length; }
};
} // namespace

static Value constantList(OnnxNode &node, ArrayRef<int64_t> values, ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, node.b.getI64Type());
  return makeConstant(node.b, node.loc, DenseElementsAttr::get(type, values));
}

/// The pools that `ngram_counts` cuts out of all words; nullopt after `refuse`.
static std::optional<SmallVector<NGramPool>> cutPools(OnnxNode &node, ArrayRef<int64_t> starts,
                                                      ArrayRef<int64_t> words) {
  SmallVector<NGramPool> pools;
  for (auto [i, start] : llvm::enumerate(starts)) {
    int64_t end = i + 1 < starts.size() ? starts[i + 1] : int64_t(words.size()), length = int64_t(i) + 1;
    if (start < 0 || start > end || end > int64_t(words.size()) || (end - start) % length != 0) {
      (void)node.refuse("has ngram_counts that do not cut its pool");
      return std::nullopt;
    }
    pools.push_back({length, words.slice(start, end - start)});
  }
  return pools;
}

/// How often each n-gram of `pool` stands in the rows of x [rows, words], its words `step` apart: [rows, n-grams].
static Value countAt(OnnxNode &node, Value x, const NGramPool &pool, int64_t step) {
  Composer c(node);
  Dims dims = getDims(x);
  DimExpr places = clampToZero(dims[1] - DimExpr((pool.length - 1) * step)), one(1);
  Value found;
  for (int64_t j = 0; j < pool.length; ++j) {
    SmallVector<int64_t> column;
    for (int64_t i = 0; i < pool.count(); ++i)
      column.push_back(pool.words[i * pool.length + j]);
    Value words = c.reshape(c.slice(x, 1, DimExpr::min(DimExpr(j * step), dims[1]), places), {dims[0], places, one});
    Value same = c.op<EqualOp>({words, constantList(node, column, {1, 1, pool.count()})});
    found = found ? c.op<AndOp>({found, same}) : same;
  }
  return c.reduce<ReduceSumOp>(c.cast(found, node.b.getF32Type()), 1, false);
}

/// The pool's strings as numbers, equal ones the same; those of x likewise, and a number of its own for what is not in the pool.
static std::optional<SmallVector<int64_t>> numberWords(OnnxNode &node, Value &x) {
  std::optional<SmallVector<std::string>> pool = node.getStrings("pool_strings");
  if (!pool)
    return std::nullopt;
  x = lookup(node, x, *pool);
  if (!x)
    return std::nullopt;
  llvm::StringMap<int64_t> first;
  SmallVector<int64_t> numbers;
  for (auto [i, word] : llvm::enumerate(*pool))
    numbers.push_back(first.try_emplace(word, int64_t(i)).first->second);
  return numbers;
}

LogicalResult buildTfIdfVectorizer(OnnxNode &node) {
  Composer c(node);
  Value x = node.input(0);
  std::optional<SmallVector<int64_t>> starts = node.getInts("ngram_counts"), columns = node.getInts("ngram_indexes"),
                                      words = node.getInts("pool_int64s", OnnxNode::Range::Any);
  if (x && handle::isString(getElementType(x)))
    words = numberWords(node, x);
  int64_t least = node.getInt("min_gram_length", 1), most = node.getInt("max_gram_length", 1),
          skips = node.getInt("max_skip_count", 0);
  if (!x || getRank(x) < 1 || getRank(x) > 2 || !isa<IntegerType>(getElementType(x)) || !starts || !columns || !words)
    return node.refuse("needs a row or rows of integers or strings, and a pool of them");
  // More would be a mistake that takes all time.
  if (least < 1 || most < least || most > 64 || skips < 0 || skips > 64 || most * (skips + 1) > 512)
    return node.refuse("has n-grams of " + Twine(least) + " to " + Twine(most) + " words and " + Twine(skips) +
                       " skips");
  std::optional<SmallVector<NGramPool>> pools = cutPools(node, *starts, *words);
  if (!pools)
    return failure();
  Dims dims = getDims(x), rows = dims.size() == 1 ? Dims{DimExpr(1), dims[0]} : dims;
  x = c.reshape(c.cast(x, node.b.getI64Type()), rows);
  Type f32 = node.b.getF32Type();
  SmallVector<Value> counts;
  int64_t total = 0;
  for (const NGramPool &pool : *pools) {
    if (pool.count() == 0)
      continue;
    total += pool.count();
    Value sum = c.filled({rows[0], DimExpr(pool.count())}, f32, 0);
    bool counted = pool.length >= least && pool.length <= most;
    for (int64_t skip = 0; counted && skip <= (pool.length == 1 ? 0 : skips); ++skip)
      if (int64_t reach = (pool.length - 1) * (skip + 1); !rows[1].constant() || *rows[1].constant() > reach)
        sum = c.op<AddOp>({sum, countAt(node, x, pool, skip + 1)});
    counts.push_back(sum);
  }
  if (int64_t(columns->size()) != total || total == 0)
    return node.refuse("has " + Twine(columns->size()) + " ngram_indexes for " + Twine(total) + " n-grams");
  Value all = c.concat(counts, 1);
  std::string mode = node.getString("mode", "TF");
  if (mode != "TF") {
    SmallVector<float> weights = node.getFloats("weights").value_or(SmallVector<float>(total, 1.0f));
    if (int64_t(weights.size()) != total)
      return node.refuse("has " + Twine(weights.size()) + " weights for " + Twine(total) + " n-grams");
    auto type = RankedTensorType::get({1, total}, f32);
    if (mode == "IDF")
      all = c.op<MinimumOp>({all, makeSplat(node.b, node.loc, f32, 1)});
    all = c.op<MulOp>({all, makeConstant(node.b, node.loc, DenseElementsAttr::get(type, ArrayRef<float>(weights)))});
  }
  // Column ngram_indexes[i] of the result is n-gram i; those that no n-gram has are zero.
  int64_t first = *llvm::min_element(*columns), last = *llvm::max_element(*columns);
  if (first < 0 || last >= int64_t(1) << 24)
    return node.refuse("has the ngram_index " + Twine(first < 0 ? first : last));
  SmallVector<int64_t> from(last + 1, total);
  for (auto [i, column] : llvm::enumerate(*columns))
    from[column] = int64_t(i);
  Value padded = c.concat({all, c.filled({rows[0], DimExpr(1)}, f32, 0)}, 1);
  Value places = constantList(node, from, {last + 1});
  if (!padded)
    return failure();
  Value y = node.make<GatherOp>({padded, places}, node.attr("axis", int64_t(1)));
  return node.finish(dims.size() == 1 ? c.reshape(y, {DimExpr(last + 1)}) : y);
}

} // namespace hewn::graph
