// SPDX-License-Identifier: Apache-2.0
//
// com.microsoft's GroupQueryAttention, which exporters of language models write: it rotates queries and keys, puts the keys and
// values behind those of before and attends to all of them, as far as each sequence of the batch has come.
//
// A sequence of n elements with its newest ones, of which there are as many as queries, has its first query at n - queries, or at 0
// where it is shorter (a prompt with padding behind it). The keys of before may come in a buffer with room for more; the keys that
// go out are then as many.
#include "dialects/Graph/Contract/Attention/Onnx.h"
#include "dialects/Graph/Control/Control.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Move/MoveOps.h"

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
  /// Where each sequence's first query stands, i64 [batch, 1].
  Value start;

  Value counting(const DimExpr &count, ArrayRef<DimExpr> shape) { return c.reshape(c.range(count), shape); }

  LogicalResult readInputs() {
    (void)node.hasAttr("kv_cache_bit_width"), (void)node.hasAttr("qk_norm_epsilon"); // of what is refused here
    if (failed(node.needsDefault("causal", 1)) || failed(node.needsDefault("sliding_window_cache", 0)) ||
        failed(node.needsDefault("k_quant_type", "NONE")) || failed(node.needsDefault("v_quant_type", "NONE")))
      return failure();
    Value q = node.input(0), k = node.input(1), v = node.input(2);
    int64_t heads = node.getInt("num_heads", 0), kvHeads = node.getInt("kv_num_heads", 0);
    if (!q || !node.input(5) || !node.input(6) || getRank(q) != 3 || bool(k) != bool(v) || heads < 1 || kvHeads < 1)
      return node.refuse("needs queries of rank 3, both keys and values or neither, lengths, and numbers of heads");
    if (node.numInputs() > 11 || node.getInt("smooth_softmax", 0) > 0 || node.getInt("qk_output", 0) != 0)
      return node.refuse("sinks, smooth softmax and scores as an output are not supported");
    if (!k) { // all in one
      DimExpr width = getDims(q)[2], size = width.floorDiv(DimExpr(heads + 2 * kvHeads));
      if (width != size * DimExpr(heads + 2 * kvHeads))
        return node.refuse(width.str() + " elements do not divide by " + Twine(heads + 2 * kvHeads) + " heads");
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
    std::optional<Dims> total = node.contentsOrRead(node.input(6));
    if (!total)
      return failure();
    if (total->size() != 1)
      return node.refuse("the total length is no single number");
    Value past = node.input(3);
    keys = total->front();
    if (past && getRank(past) == 4)
      keys = node.shortened(DimExpr::max(keys, getDims(past)[2]));
    Value lengths = node.input(5);
    if (getDims(lengths) != Dims{batch} && getDims(lengths) != Dims{batch, one})
      return node.refuse("lengths are not one for each sequence of the batch");
    // The last query stands at the length, so that this looks after the places that angles are read at, too.
    Value cos = node.input(7);
    bool counted = node.getInt("do_rotary", 0) && !node.input(9) && cos && getRank(cos) == 2;
    if (failed(checkIndices(node, lengths, counted ? DimExpr::min(keys, getDims(cos)[0]) : keys)))
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
      return node.refuse("rotates without tables of cosines and sines");
    if (positions) {
      if (failed(checkIndices(node, positions, getDims(cos)[0])))
        return failure();
    } else { // of queries that are padding, any
      positions = c.op<MinimumOp>(
          {c.op<AddOp>({start, counting(queries, Dims{one, queries})}), c.number(getDims(cos)[0] - one)});
    }
    if (!positions)
      return failure();
    int64_t turned = 2 * *getDims(cos)[1].constant();
    std::optional<int64_t> size = getDims(in.q)[3].constant();
    if (!size || turned > *size)
      return node.refuse("turns " + Twine(turned) + " of " + getDims(in.q)[3].str() + " elements");
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

  /// Keys and values with those of before, `keys` of each.
  LogicalResult joinPast() {
    Value pastK = node.input(3), pastV = node.input(4);
    if (bool(pastK) != bool(pastV) || (pastK && (getRank(pastK) != 4 || getRank(pastV) != 4)))
      return node.refuse("needs past keys and values of rank 4");
    DimExpr before = pastK ? getDims(pastK)[2] : DimExpr(0);
    // Of nothing no element can be read, not even one that nobody looks at.
    Decision isEmpty = node.decide(before, 0);
    if (isEmpty == Decision::PerCase)
      return failure();
    if (isEmpty == Decision::Yes && queries == keys)
      return success();
    // Element t is the past's until the sequence's own ones begin, and again behind them, where nobody looks.
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

  /// Rows `at` [batch or 1, keys] of x [batch, heads, count, size], the first or the last one where there is none.
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

  /// Who takes part, or what is added to the scores and -inf for those who don't: [batch, 1, queries, keys].
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
