// SPDX-License-Identifier: Apache-2.0
//
// Import of TfIdfVectorizer, which counts n-grams in rows of words. The compiler
// fills a hash table with the n-grams, and the runtime looks up each window of a row.
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Builders/OnnxNode.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"
#include "dialects/Graph/OnnxML/OnnxMLOps.h"
#include "dialects/Graph/RuntimeCall/RuntimeCall.h"
#include "dialects/Graph/Text/Text.h"
#include "hewn/hash.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace hewn::graph {

namespace {
/// All n-grams of one length: `words` has the words of one n-gram after those of another.
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

/// Splits the word list of a TfIdfVectorizer into pools of equal n-gram length, at the indices
/// `ngram_counts`. Returns nullopt after a call of `refuse`.
static std::optional<SmallVector<NGramPool>> cutPools(OnnxNode &node, ArrayRef<int64_t> starts,
                                                      ArrayRef<int64_t> words) {
  SmallVector<NGramPool> pools;
  for (auto [i, start] : llvm::enumerate(starts)) {
    int64_t end = i + 1 < starts.size() ? starts[i + 1] : int64_t(words.size()), length = int64_t(i) + 1;
    if (start < 0 || start > end || end > int64_t(words.size()) || (end - start) % length != 0) {
      (void)node.refuse("ngram_counts do not match the pool");
      return std::nullopt;
    }
    pools.push_back({length, words.slice(start, end - start)});
  }
  return pools;
}

/// Fills a hash table (hewn/hash.h) with all n-grams. Equal n-grams have a slot each.
static SmallVector<int32_t> hashNGrams(ArrayRef<NGramPool> pools) {
  SmallVector<uint64_t> hashes;
  for (const NGramPool &pool : pools)
    for (int64_t i = 0; i < pool.count(); ++i) {
      uint64_t hash = 0;
      for (int64_t word : pool.words.slice(i * pool.length, pool.length))
        hash = hewn_hash_word(hash, uint64_t(word));
      hashes.push_back(hash);
    }
  return hashTable(hashes.size(), [&](size_t i) { return hashes[i]; }, [](size_t, size_t) { return false; });
}

/// Replaces strings by numbers, both in the pool and in x. Equal strings become equal numbers.
/// Strings of x that are not in the pool become a number that is not in the pool.
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
    return node.refuse("requires integers or strings of rank 1 or 2, and a pool of the same type");
  // Larger values of the TfIdfVectorizer attributes are regarded as errors in the model: counting
  // such n-grams would take too much time.
  if (least < 1 || most < least || most > 64 || skips < 0 || skips > 64 || most * (skips + 1) > 512)
    return node.refuse("has n-grams of " + Twine(least) + " to " + Twine(most) + " words and " + Twine(skips) +
                       " skips");
  std::optional<SmallVector<NGramPool>> pools = cutPools(node, *starts, *words);
  if (!pools)
    return failure();
  Dims dims = getDims(x), rows = dims.size() == 1 ? Dims{DimExpr(1), dims[0]} : dims;
  x = c.reshape(c.cast(x, node.b.getI64Type()), rows);
  int64_t total = 0;
  for (const NGramPool &pool : *pools)
    total += pool.count();
  if (int64_t(columns->size()) != total || total == 0)
    return node.refuse("has " + Twine(columns->size()) + " ngram_indexes for " + Twine(total) + " n-grams");
  // The count of n-gram i becomes result column ngram_indexes[i]. Of several n-grams with the same
  // column, the last one counts. All other columns are zero.
  int64_t first = *llvm::min_element(*columns), last = *llvm::max_element(*columns);
  if (first < 0 || last >= int64_t(1) << 24)
    return node.refuse("ngram_indexes has the invalid index " + Twine(first < 0 ? first : last));
  SmallVector<int64_t> owner(last + 1, -1);
  for (auto [i, column] : llvm::enumerate(*columns))
    owner[column] = int64_t(i);
  for (auto [i, column] : llvm::enumerate(*columns))
    if (owner[column] != int64_t(i))
      column = -1;
  std::string mode = node.getString("mode", "TF");
  SmallVector<float> byColumn;
  if (mode != "TF") {
    SmallVector<float> weights = node.getFloats("weights").value_or(SmallVector<float>(total, 1.0f));
    if (int64_t(weights.size()) != total)
      return node.refuse("has " + Twine(weights.size()) + " weights for " + Twine(total) + " n-grams");
    for (int64_t i : owner)
      byColumn.push_back(i < 0 ? 0.0f : weights[i]);
  }
  Value weights =
      makeConstant(node.b, node.loc,
                   DenseElementsAttr::get(RankedTensorType::get({int64_t(byColumn.size())}, node.b.getF32Type()),
                                          ArrayRef<float>(byColumn)));
  auto list = [&](ArrayRef<int64_t> values) { return constantList(node, values, {int64_t(values.size())}); };
  Value y = node.make<NgramsOp>(
      {x, list(*words), list(*starts), list(*columns), hashTableOf(node, hashNGrams(*pools)), weights},
      {node.attr("least", int64_t(least)), node.attr("most", int64_t(most)), node.attr("skips", int64_t(skips)),
       node.attr("once", node.b.getBoolAttr(mode == "IDF")), node.attr("numColumns", int64_t(last + 1))});
  return node.finish(dims.size() == 1 && y ? c.reshape(y, {DimExpr(last + 1)}) : y);
}

LogicalResult NgramsOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Value lists[] = {getPool(), getStarts(), getColumns()};
  Dims x = dimsOf(getX()), slots = dimsOf(getSlots()), columns = dimsOf(getColumns()), weights = dimsOf(getWeights());
  if (x.size() != 2 || !graph::getElementType(getX()).isSignlessInteger(64) || llvm::any_of(lists, [&](Value list) {
        return dimsOf(list).size() != 1 || !graph::getElementType(list).isSignlessInteger(64);
      }))
    return emitOpError("requires rows of words and lists of i64");
  if (getLeast() < 1 || getMost() > 64)
    return emitOpError("requires n-grams of 1 to 64 words");
  std::optional<int64_t> size = slots.size() == 1 ? slots[0].constant() : std::nullopt;
  if (!graph::getElementType(getSlots()).isSignlessInteger(32) || !size || !llvm::isPowerOf2_64(uint64_t(*size)) ||
      columns[0].constant().value_or(*size) >= *size)
    return emitOpError("requires a hash table of i32, whose size is a power of two and more than the n-grams");
  if (!graph::getElementType(getWeights()).isF32() || weights.size() != 1 ||
      (weights[0] != DimExpr(0) && weights[0] != DimExpr(int64_t(getNumColumns()))))
    return emitOpError("requires an f32 weight for each column, or none");
  results.push_back({{x[0], DimExpr(int64_t(getNumColumns()))}, Float32Type::get(getContext())});
  return success();
}

void NgramsOp::requireDims(Requirements &) {}

} // namespace hewn::graph
