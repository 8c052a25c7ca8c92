// SPDX-License-Identifier: Apache-2.0
//
// Import of com.microsoft's GroupQueryAttention, which exporters of language models emit. The node
// rotates queries and keys, appends the new keys and values to the past ones, and attends to all of
// them up to the length of each sequence.
//
// The queries are the newest elements of a sequence. In a sequence of n elements, the first query
// is at position n - queries, or at position 0 if n < queries (a prompt with padding at its end).
// The buffer of the past keys may have unused capacity; the present keys then have the size of this
// buffer.
#include "dialects/Graph/Contract/Attention/Onnx.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Indexing/IndexingOps.h"

#include <limits>

using namespace mlir;

namespace hewn::graph {

namespace {
class GroupQuery {
public:
  explicit GroupQuery(OnnxNode &node) : node(node), c(node), one(1) {}

  LogicalResult run() {
    if (failed(readInputs()) || failed(placeQueries()) || failed(rotateAll()) || failed(joinPast()))
      return failure();
    in.mask = maskOf();
    if (!in.mask)
      return failure();
    return finishAttention(node, in);
  }

private:
  OnnxNode &node;
  Composer c;
  AttentionInputs in;
  DimExpr one, batch, queries, keys;
  /// Position of the first query in each sequence, i64 [batch, 1].
  Value start;

  Value counting(const DimExpr &count, ArrayRef<DimExpr> shape) { return c.reshape(c.range(count), shape); }

  LogicalResult readInputs() {
    // these attributes of GroupQueryAttention have no effect in the supported modes
    (void)node.hasAttr("kv_cache_bit_width"), (void)node.hasAttr("qk_norm_epsilon");
    if (failed(node.needsDefault("causal", 1)) || failed(node.needsDefault("sliding_window_cache", 0)) ||
        failed(node.needsDefault("k_quant_type", "NONE")) || failed(node.needsDefault("v_quant_type", "NONE")))
      return failure();
    Value q = node.input(0), k = node.input(1), v = node.input(2);
    int64_t heads = node.getInt("num_heads", 0), kvHeads = node.getInt("kv_num_heads", 0);
    if (!q || !node.input(5) || !node.input(6) || getRank(q) != 3 || bool(k) != bool(v) || heads < 1 || kvHeads < 1)
      return node.refuse(
          "requires queries of rank 3, keys and values (both or neither), lengths, num_heads and kv_num_heads");
    if (node.numInputs() > 11 || node.getInt("smooth_softmax", 0) > 0 || node.getInt("qk_output", 0) != 0)
      return node.refuse("sinks, smooth softmax and scores as an output are not supported");
    // the node has no input for keys: input 0 contains queries, keys and values side by side
    if (!k) {
      DimExpr width = getDims(q)[2], size = width.floorDiv(DimExpr(heads + 2 * kvHeads));
      if (width != size * DimExpr(heads + 2 * kvHeads))
        return node.refuse(width.str() + " elements are not divisible by " + Twine(heads + 2 * kvHeads) + " heads");
      DimExpr own = size * DimExpr(heads), others = size * DimExpr(kvHeads);
      k = c.slice(q, 2, own, others);
      v = c.slice(q, 2, own + others, others);
      q = c.slice(q, 2, DimExpr(0), own);
    }
    batch = getDims(q)[0], queries = getDims(q)[1];
    in.q = splitHeads(node, q, heads), in.k = splitHeads(node, k, kvHeads), in.v = splitHeads(node, v, kvHeads);
    in.softcap = node.getFloat("softcap", 0);
    if (node.getFloat("scale", 0) != 0)
      in.scale = node.getFloat("scale", 0);
    return success(in.q && in.k && in.v);
  }

  LogicalResult placeQueries() {
    std::optional<Dims> total = node.contentsOrRead(node.input(6), 1);
    if (!total)
      return failure();
    if (total->size() != 1)
      return node.refuse("the total length must be a scalar");
    Value past = node.input(3);
    keys = total->front();
    if (past && getRank(past) == 4)
      keys = node.shortened(DimExpr::max(keys, getDims(past)[2]));
    Value lengths = node.input(5);
    if (getDims(lengths) != Dims{batch} && getDims(lengths) != Dims{batch, one})
      return node.refuse("requires one length for each sequence of the batch");
    // The input `lengths` has the position of the last query in each sequence. Checking it against
    // the size of the rotation tables therefore also checks the positions at which these tables are
    // read.
    Value cos = node.input(7);
    bool counted = node.getInt("do_rotary", 0) && !node.input(9) && cos && getRank(cos) == 2;
    DimExpr most = counted ? DimExpr::min(keys, getDims(cos)[0]) : keys;
    if (failed(checkIndices(node, lengths, most, IndexRange::Position)))
      return failure();
    lengths = c.op<AddOp>({c.cast(c.reshape(lengths, Dims{batch, one}), c.b.getI64Type()), c.number(DimExpr(1))});
    start = c.op<MaximumOp>({c.op<SubOp>({lengths, c.number(queries)}), c.number(DimExpr(0))});
    return success(bool(start));
  }

  LogicalResult rotateAll() {
    if (!node.getInt("do_rotary", 0))
      return success();
    Value cos = node.input(7), sin = node.input(8), positions = node.input(9);
    if (!cos || !sin || getRank(cos) != 2 || getDims(cos) != getDims(sin) || !getDims(cos)[1].constant())
      return node.refuse("rotary embedding requires cos and sin caches of rank 2 and equal shape");
    if (positions) {
      if (failed(checkIndices(node, positions, getDims(cos)[0], IndexRange::Position)))
        return failure();
      // queries that are padding may have any position, so positions are clamped to the rotation
      // table
    } else {
      positions = c.op<MinimumOp>(
          {c.op<AddOp>({start, counting(queries, Dims{one, queries})}), c.number(getDims(cos)[0] - one)});
    }
    if (!positions)
      return failure();
    int64_t turned = 2 * *getDims(cos)[1].constant();
    std::optional<int64_t> size = getDims(in.q)[3].constant();
    if (!size || turned > *size)
      return node.refuse("rotates " + Twine(turned) + " of " + getDims(in.q)[3].str() + " elements");
    auto rows = [&](Value table) {
      Value taken = node.make<GatherOp>({table, positions}, node.attr("axis", int64_t(0)));
      Dims dims = getDims(taken);
      return c.reshape(taken, Dims{dims[0], one, dims[1], dims[2]});
    };
    cos = rows(cos), sin = rows(sin);
    bool interleaved = node.getInt("rotary_interleaved", 0);
    in.q = rotate(c, in.q, cos, sin, turned, interleaved);
    in.k = rotate(c, in.k, cos, sin, turned, interleaved);
    return success(in.q && in.k);
  }

  /// Appends the new keys and values to the past ones. The results have `keys` elements per
  /// sequence.
  LogicalResult joinPast() {
    Value pastK = node.input(3), pastV = node.input(4);
    if (bool(pastK) != bool(pastV) || (pastK && (getRank(pastK) != 4 || getRank(pastV) != 4)))
      return node.refuse("requires past keys and values of rank 4");
    DimExpr before = pastK ? getDims(pastK)[2] : DimExpr(0);
    // If the past is empty, emits no gather from it: a gather may not read from an empty tensor,
    // even if its result is not used.
    Decision isEmpty = node.decide(before, 0);
    if (isEmpty == Decision::PerCase)
      return failure();
    if (isEmpty == Decision::Yes && queries == keys)
      return success();
    // Selects element t of a sequence of keys or values from the past unless t is one of the new
    // elements. After the new elements, the elements of the past are unused padding.
    Value at = counting(keys, Dims{one, keys}), own = c.op<SubOp>({at, start});
    Value isOwn = c.op<AndOp>({c.op<LessOp>({c.number(DimExpr(-1)), own}), c.op<LessOp>({own, c.number(queries)})});
    auto join = [&](Value past, Value all) -> Value {
      all = rowsAt(all, own, queries);
      if (!past || isEmpty == Decision::Yes)
        return all;
      return c.op<WhereOp>({c.reshape(isOwn, Dims{batch, one, keys, one}), all, rowsAt(past, at, before)});
    };
    in.k = join(pastK, in.k), in.v = join(pastV, in.v);
    return success(in.k && in.v);
  }

  /// Returns the rows of x [batch, heads, count, size] with the indices `at` [batch or 1, keys],
  /// which are clamped to the valid range.
  Value rowsAt(Value x, Value at, const DimExpr &count) {
    if (!x || !at)
      return {};
    Dims dims = getDims(x);
    at = c.op<MaximumOp>({c.op<MinimumOp>({at, c.number(count - one)}), c.number(DimExpr(0))});
    Value of = c.op<MulOp>({counting(dims[0] * dims[1], Dims{dims[0], dims[1], one}), c.number(count)});
    Value rows = c.op<AddOp>({of, c.reshape(at, Dims{getDims(at)[0], one, keys})});
    Value table = c.reshape(x, Dims{dims[0] * dims[1] * dims[2], dims[3]});
    return rows && table ? node.make<GatherOp>({table, rows}, node.attr("axis", int64_t(0))) : Value();
  }

  /// Returns the attention mask [batch, 1, queries, keys]: bools, or, if the node has a bias, the
  /// bias with -inf for masked keys.
  Value maskOf() {
    Value first = c.reshape(start, Dims{batch, one, one, one});
    Value query = c.op<AddOp>({first, counting(queries, Dims{one, one, queries, one})});
    Value key = counting(keys, Dims{one, one, one, keys});
    Value mask = c.op<LessOp>({key, c.op<AddOp>({query, c.number(DimExpr(1))})});
    if (int64_t window = node.getInt("local_window_size", -1); window > 0)
      mask = c.op<AndOp>({mask, c.op<LessOp>({c.op<SubOp>({query, c.number(DimExpr(window))}), key})});
    Value bias = node.input(10);
    if (!mask || !bias)
      return mask;
    return c.op<WhereOp>({mask, bias, c.scalarLike(bias, -std::numeric_limits<double>::infinity())});
  }
};
} // namespace

LogicalResult buildGroupQueryAttention(OnnxNode &node) { return GroupQuery(node).run(); }

} // namespace hewn::graph
