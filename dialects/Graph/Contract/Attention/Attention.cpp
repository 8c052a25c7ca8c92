// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/Builders/Compose.h"
#include "dialects/Graph/Contract/Attention/AttentionOps.h"
#include "dialects/Graph/Contract/ContractOps.h"
#include "dialects/Graph/Elementwise/ElementwiseOps.h"
#include "dialects/Graph/Reduce/Normalize/Normalize.h"
#include "dialects/Graph/Reduce/ReduceOps.h"

#include <limits>

using namespace mlir;

namespace hewn::graph {

static bool mayEqual(const DimExpr &a, const DimExpr &b) { return !a.constant() || !b.constant() || a == b; }

LogicalResult AttentionOp::inferShapes(DimsOf dimsOf, SmallVectorImpl<TensorShape> &results) {
  Dims q = dimsOf(getQ()), k = dimsOf(getK()), v = dimsOf(getV());
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return emitOpError("takes q, k and v of rank 4");
  if (!mayEqual(q[3], k[3]) || !mayEqual(k[2], v[2]) || !mayEqual(k[1], v[1]) || !mayEqual(q[0], k[0]) ||
      !mayEqual(k[0], v[0]))
    return emitOpError("shape mismatch between q, k and v");
  if (!k[1].constant() || !q[1].constant() || k[1].is(0) || *q[1].constant() % *k[1].constant() != 0)
    return emitOpError("number of query heads (")
           << q[1].str() << ") is not a multiple of the number of key heads (" << k[1].str() << ")";
  Type type = getElementType(getQ());
  if (!isa<FloatType>(type) || getElementType(getK()) != type || getElementType(getV()) != type ||
      !isa<FloatType>(getPrecision()))
    return emitOpError("requires q, k and v of the same float type");
  Dims scores = {q[0], q[1], q[2], k[2]};
  if (getMask()) {
    Type mask = getElementType(getMask());
    std::optional<Dims> all = broadcastDims({scores, dimsOf(getMask())});
    if ((mask != type && !mask.isInteger(1)) || !all || all->size() != 4)
      return emitOpError("mask must be bool or q's float type and broadcast to the scores' shape");
  }
  if (getLengths() && (dimsOf(getLengths()).size() != 1 || !isa<IntegerType>(getElementType(getLengths()))))
    return emitOpError("lengths must be a 1-D integer tensor");
  std::optional<Dims> offset = parseDims(getOffset());
  if (!offset || offset->size() != 1)
    return emitOpError("offset must be a single integer");
  results.push_back({Dims{q[0], q[1], q[2], v[3]}, type});
  results.push_back({scores, type});
  return success();
}

namespace {
/// Emits the decomposition of graph.attention.
class AttentionComposer {
public:
  AttentionComposer(AttentionOp op, OpBuilder &b)
      : op(op), c(b, op.getLoc()), q(getDims(op.getQ())), k(getDims(op.getK())), v(getDims(op.getV())),
        groups(*q[1].constant() / *k[1].constant()), together(groups > 1 && masksRowsAlike()) {}

  FailureOr<SmallVector<Value>> run() {
    Value raw = product(), capped = softcap(raw), masked = addMask(capped);
    Value weights = c.cast(softmax(c.cast(masked, op.getPrecision())), getElementType(op.getQ()));
    Value stages[] = {raw, capped, masked, weights};
    if (!weights || op.getStage() > 3)
      return failure();
    if (!together)
      weights = grouped(weights);
    Value result = c.reshape(c.op<MatMulOp>({weights, op.getV()}), Dims{q[0], q[1], q[2], v[3]});
    Value stage = c.reshape(stages[op.getStage()], Dims{q[0], q[1], q[2], k[2]});
    if (!result || !stage)
      return failure();
    return SmallVector<Value>{result, stage};
  }

private:
  AttentionOp op;
  Composer c;
  Dims q, k, v;
  int64_t groups;
  /// True if all query heads that share a head of keys become rows of one matmul, from the scores
  /// to the result.
  bool together;

  /// Returns true if all query rows of the heads that share keys have the same mask. If so, no op
  /// between the two matmuls of the attention depends on the number of the row.
  bool masksRowsAlike() {
    Dims mask = op.getMask() ? getDims(op.getMask()) : Dims();
    bool ofHeads = mask.size() >= 3 && !mask[mask.size() - 3].is(1),
         ofRows = mask.size() >= 2 && !mask[mask.size() - 2].is(1);
    return !ofHeads && !ofRows && (q[2].is(1) || !isBounded());
  }

  /// Reshapes the query heads that share keys to rows of one matmul: [batch, kvHead, group * query,
  /// last].
  Value grouped(Value x) {
    if (!x || groups == 1)
      return x;
    Dims dims = getDims(x);
    return c.reshape(x, Dims{dims[0], k[1], dims[2] * DimExpr(groups), dims[3]});
  }

  Value product() {
    Value query = op.getQ(), keys = c.transpose(op.getK(), {0, 1, 3, 2});
    double scale = op.getScale().convertToDouble();
    // Scales float16 queries before the matmul, because unscaled float16 scores could overflow. For
    // other types, scales the scores, because scaling after the matmul is free.
    bool narrow = getElementType(query).isF16();
    if (narrow) { // scales in float32, because a scale rounded to 11 bits would change all scores
      Value wide = c.cast(query, c.b.getF32Type());
      query = c.cast(c.op<MulOp>({wide, c.scalarLike(wide, scale)}), getElementType(query));
    }
    Value scores = c.op<MatMulOp>({grouped(query), keys});
    if (!narrow && scores)
      scores = c.op<MulOp>({scores, c.scalarLike(scores, scale)});
    return together ? scores : c.reshape(scores, Dims{q[0], q[1], q[2], k[2]});
  }

  Value softcap(Value scores) {
    double cap = op.getSoftcap().convertToDouble();
    if (!scores || cap <= 0)
      return scores;
    Value factor = c.scalarLike(scores, cap);
    return c.op<MulOp>({c.op<TanhOp>(c.op<DivOp>({scores, factor})), factor});
  }

  /// Returns the positions start, start + 1, ... as [count, 1] (`column`) or [count].
  Value positions(Value start, const DimExpr &count, bool column) {
    Value range = c.range(start, c.number(DimExpr(1)), count);
    return column ? c.reshape(range, Dims{count, DimExpr(1)}) : range;
  }

  Value forbid(Value scores, Value allowed) {
    return c.op<WhereOp>({allowed, scores, c.scalarLike(scores, -std::numeric_limits<double>::infinity())});
  }

  // Convert the window attributes to signed integers, because the ODS accessors return unsigned
  // integers.
  int64_t left() { return int64_t(op.getLeft()); }
  int64_t right() { return int64_t(op.getRight()); }
  bool isBounded() { return left() >= 0 || right() >= 0; }

  Value addMask(Value scores) {
    if (!scores)
      return scores;
    if (Value mask = op.getMask())
      scores = getElementType(mask).isInteger(1) ? forbid(scores, mask) : c.op<AddOp>({scores, mask});
    if (!isBounded() && !op.getLengths())
      return scores;
    Value keys = positions(c.number(DimExpr(0)), k[2], false), lengths, queries;
    if (op.getLengths()) {
      DimExpr one(1);
      lengths = c.reshape(c.cast(op.getLengths(), c.b.getI64Type()), Dims{q[0], one, one, one});
      scores = forbid(scores, c.op<LessOp>({keys, lengths}));
      queries = c.op<AddOp>({positions(c.number(q[2] * DimExpr(-1)), q[2], true), lengths});
    } else {
      queries = positions(c.number(parseDims(op.getOffset())->front()), q[2], true);
    }
    auto shifted = [&](int64_t by) { return c.op<AddOp>({queries, c.number(DimExpr(by))}); };
    if (right() >= 0 && scores)
      scores = forbid(scores, c.op<LessOp>({keys, shifted(right() + 1)}));
    if (left() >= 0 && scores)
      scores = forbid(scores, c.op<LessOp>({shifted(-left() - 1), keys}));
    return scores;
  }

  Value softmax(Value scores) {
    Value most = maximumOfLogits(c, scores, 3);
    // In a fully masked row of scores, the maximum is -inf, and -inf - -inf would be NaN. The
    // maximum is therefore raised to the lowest finite number. The sum of the row's exponentials is
    // then 0, and is raised to 1. The sum of any other row is at least 1.
    bool mayBeEmpty = op.getMask() || op.getLengths() || isBounded();
    if (mayBeEmpty && most) {
      auto lowest = APFloat::getLargest(cast<FloatType>(getElementType(most)).getFloatSemantics(), true);
      bool inexact;
      lowest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
      most = c.op<MaximumOp>({most, c.scalarLike(most, lowest.convertToDouble())});
    }
    Value powers = c.op<ExpOp>(c.op<SubOp>({scores, most}));
    Value sum = c.reduce<ReduceSumOp>(powers, {3}, true);
    if (mayBeEmpty && sum)
      sum = c.op<MaximumOp>({sum, c.scalarLike(sum, 1)});
    return c.op<DivOp>({powers, sum});
  }
};
} // namespace

FailureOr<SmallVector<Value>> AttentionOp::compose(OpBuilder &b) {
  // Requires equal batch sizes and head counts of queries, keys and values: attention does not
  // broadcast a dim of 1, but the matmuls of its decomposition would.
  Dims q = getDims(getQ()), k = getDims(getK()), v = getDims(getV());
  for (auto [left, right] :
       {std::pair(k[0], q[0]), std::pair(v[0], q[0]), std::pair(v[1], k[1]), std::pair(v[2], k[2])})
    require(b, getLoc(), Relation::Equal, left, right);
  if (getLengths())
    require(b, getLoc(), Relation::Equal, getDims(getLengths())[0], q[0]);
  return AttentionComposer(*this, b).run();
}

} // namespace hewn::graph
