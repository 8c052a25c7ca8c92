// SPDX-License-Identifier: Apache-2.0
//
// Fused attention with a softmax, in one pass over the columns (OnlineRows.h).
#include "lib/Target/NVPTX/Kernels/Attention/GpuAttention.h"
#include "lib/Target/NVPTX/Kernels/Attention/OnlineRows.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::FusedAttention;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

class OnlineAttention : public GpuAttention {
public:
  OnlineAttention(KernelContext &k, OpBuilder &b, const FusedAttention &attention, plan::GpuAttentionAttr schedule,
                  const std::optional<Buffer> &memory, const OnlineRows &online)
      : GpuAttention(k, b, attention, schedule, memory), online(online) {
    if (spread.wide > 1)
      exchange = gpu.shared(spread.high * gpu.warp * int64_t(2 * numRows() + numSums()), b.getF32Type());
  }

private:
  OnlineRows online;
  Value exchange;

  /// Returns exp(logit - maximum), as the kernel's ops compute it.
  Value power(Value logit, Value maximum, ArrayRef<Index> at) {
    e.bind(online.logits, logit);
    e.bind(online.maximum->getResult(0), maximum);
    Value value = e.read(online.powers, at);
    e.unbind(online.logits);
    e.unbind(online.maximum->getResult(0));
    if (factors.isF32())
      return value;
    // The weights are rounded to 16-bit floats, for which the hardware exp2 is accurate enough. It
    // takes two instructions; the float32 approximation takes fourteen.
    constexpr double log2OfE = 1.44269504088896341;
    auto exp = value.getDefiningOp<math::ExpOp>(); // onlineRows has verified that this op is an exp
    Value power = gpu.exp2(arith::MulFOp::create(b, loc(), exp.getOperand(), number(log2OfE)));
    exp.erase();
    return power;
  }

  /// Returns the number that is subtracted from the row's logits: the row's maximum. If the maximum
  /// is -inf (all logits are), returns 0 instead, so that the exponentials are 0 and not NaN.
  Value subtracted(Value maximum) {
    Value none = online.maximum.identity(b, loc(), 0)[0];
    Value isNone = arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::OEQ, maximum, none);
    return arith::SelectOp::create(b, loc(), isNone, number(0), maximum);
  }

  /// Returns true if the rescaling of accumulators may be skipped while the row's maximum grows
  /// just a little. The accumulators then stay relative to an earlier maximum. This is correct
  /// because the quotient does not depend on the subtracted number, and 16-bit weights keep their
  /// relative precision.
  bool isLazy() {
    FloatAttr none;
    return !factors.isF32() && !online.hasLeastSum &&
           matchPattern(online.maximum.identity(b, loc(), 0)[0], m_Constant(&none)) && none.getValue().isInfinity() &&
           none.getValue().isNegative();
  }
  /// Returns a condition that is true if weights relative to the maximum `earlier` could exceed
  /// about 2^8, or if `maximum` is NaN.
  Value isFarAbove(Value maximum, Value earlier) {
    Value bound = arith::AddFOp::create(b, loc(), earlier, number(5.5));
    return arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::UGT, maximum, bound);
  }

  /// Rescales the sums of exponentials and the accumulators, which are relative to the maxima
  /// `before`, to the maxima `maximum`. `grows` is a condition: if it is false, the maxima are
  /// equal and the code skips the rescaling. If it is null, the rescaling is unconditional.
  SmallVector<Value> rescaled(ArrayRef<Value> sums, ArrayRef<Value> before, ArrayRef<Value> maximum, Value grows,
                              ArrayRef<Index> at) {
    const size_t rows = numRows();
    auto scaled = [&] {
      SmallVector<Value> shrink, all;
      for (size_t r = 0; r < rows; ++r)
        shrink.push_back(power(before[r], maximum[r], at));
      for (auto [i, sum] : llvm::enumerate(sums))
        all.push_back(arith::MulFOp::create(b, loc(), sum, i < rows ? shrink[i] : ofValues(shrink[rowOf(i - rows)])));
      return all;
    };
    if (!grows)
      return scaled();
    auto branch = scf::IfOp::create(b, loc(), ValueRange(sums).getTypes(), grows, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    e.forget();
    scf::YieldOp::create(b, loc(), scaled());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc(), sums);
    e.forget();
    return llvm::to_vector_of<Value>(branch.getResults());
  }

  Value merge(ReduceOpInterface reduce, Value x, Value y) { return reduce.merge(b, loc(), {x}, {y})[0]; }

  /// The loop-carried states are the maximum of each of this lane's rows, the sum of exponentials
  /// of each row, and the accumulators of the second GEMM.
  SmallVector<Value> sumsOfRows() override {
    Value none = online.maximum.identity(b, loc(), 0)[0], zero = number(0);
    const size_t rows = numRows();
    SmallVector<Value> start(rows, none);
    start.append(rows + numSums(), zero);
    SmallVector<Value> states =
        overTiles(start, /*adds=*/true, [&](ValueRange carried, ArrayRef<Value> made, Index from) {
          SmallVector<Value> now(carried), logits;
          SmallVector<Value> largest(rows, none), maximum;
          for (auto [i, score] : llvm::enumerate(made)) {
            Index column = columnOf(i, from);
            Value logit = readAt(online.logits, score, placeOf(i, column));
            if (Value has = hasColumn(i, from))
              logit = e.selectElement(has, logit, none);
            logits.push_back(logit);
            largest[rowOf(i)] = merge(online.maximum, largest[rowOf(i)], logit);
          }
          SmallVector<Index> anywhere = placeOf(0, from);
          SmallVector<Value> before(ArrayRef(now).take_front(rows));
          Value grows;
          for (size_t r = 0; r < rows; ++r) {
            now[r] = merge(online.maximum, before[r], meet(online.maximum, {largest[r]})[0]);
            if (isLazy()) {
              Value far = isFarAbove(now[r], before[r]);
              now[r] = arith::SelectOp::create(b, loc(), far, now[r], before[r]);
              grows = grows ? Value(arith::OrIOp::create(b, loc(), grows, far)) : far;
            }
            maximum.push_back(subtracted(now[r]));
          }
          llvm::copy(rescaled(ArrayRef(now).drop_front(rows), before, maximum, grows, anywhere), now.begin() + rows);
          SmallVector<Value> weights;
          for (auto [i, logit] : llvm::enumerate(logits)) {
            Value weight = power(logit, maximum[rowOf(i)], anywhere);
            weights.push_back(ofValues(weight));
            now[rows + rowOf(i)] = merge(online.sum, now[rows + rowOf(i)], weight);
          }
          SmallVector<Value> sums = addValues(ArrayRef(now).drop_front(2 * rows), weights);
          llvm::copy(sums, now.begin() + 2 * rows);
          return now;
        });
    for (size_t r = 0; r < rows; ++r)
      states[rows + r] = meet(online.sum, {states[rows + r]})[0];
    const SmallVector<Value> given(states);
    for (int64_t w = 1; w < spread.wide; ++w)
      states = mergedWith(w, given, states);
    if (!parts.count().is(1))
      states = mergedParts(states);
    SmallVector<Value> sums;
    SmallVector<Value> inverse(rows);
    // With attention weights of 16 bits, multiplying by one reciprocal per row is accurate enough.
    for (size_t r = 0; r < rows; ++r)
      inverse[r] = factors.isF32() ? Value() : quotientOf(weight(number(1), states[rows + r], 2 * r));
    for (size_t i = 0; i < numSums(); ++i)
      sums.push_back(quotient(states[2 * rows + i], states[rows + rowOf(i)], inverse[rowOf(i)], i));
    return sums;
  }

  Value weight(Value powers, Value sum, size_t i) {
    e.bind(online.powers, powers);
    e.bind(online.sum->getResult(0), sum);
    Value value = e.read(attention.weights, placeOf(i, e.constant(0)));
    e.unbind(online.powers);
    e.unbind(online.sum->getResult(0));
    return value;
  }

  /// Looks through the select that replaces NaN attention weights by 0, if the kernel has one.
  Value beforeZeros(Value weight) {
    return online.zeroesNaN ? weight.getDefiningOp<arith::SelectOp>().getFalseValue() : weight;
  }
  /// Looks through the select that replaces NaN attention weights by 0, and through the rounding of
  /// weights to a 16-bit float.
  Value quotientOf(Value weight) {
    weight = beforeZeros(weight);
    if (auto wider = weight.getDefiningOp<arith::ExtFOp>())
      if (auto narrower = wider.getIn().getDefiningOp<arith::TruncFOp>())
        return narrower.getIn();
    return weight;
  }

  /// Returns accumulator `i`, with the value `values`, divided by the row's sum of exponentials
  /// `sum`. `inverse` is the reciprocal of `sum`, or null.
  Value quotient(Value values, Value sum, Value inverse, size_t i) {
    Value value =
        inverse ? Value(arith::MulFOp::create(b, loc(), values, inverse)) : beforeZeros(weight(values, sum, i));
    if (!online.zeroesNaN)
      return value;
    // Test the row's attention weights for NaN, not the accumulator. If the weights are NaN, they
    // count as zero, and the result is zero times the values, which is NaN if a value is NaN or
    // infinite.
    Value isNaN = weight(sum, sum, i).getDefiningOp<arith::SelectOp>().getCondition();
    return e.selectElement(isNaN, arith::MulFOp::create(b, loc(), values, number(0)), value);
  }

  /// Returns the factor (a weight or a scale) by which accumulators of values are multiplied. If
  /// the kernel replaces NaN weights by 0, returns 0 for a NaN factor, so that an accumulator
  /// becomes NaN only because of the values.
  Value ofValues(Value factor) {
    if (!online.zeroesNaN)
      return factor;
    Value isNaN = arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::UNO, factor, factor);
    return arith::SelectOp::create(b, loc(), isNaN, number(0), factor);
  }

  /// Merges the states `own` of this warp with the states `given` of the warp with index `wide`
  /// along the columns, which has the same rows and other columns.
  SmallVector<Value> mergedWith(int64_t wide, ArrayRef<Value> given, const SmallVector<Value> &own) {
    Index lane = e.mod({gpu.thread}, e.constant(gpu.warp)), many = e.constant(spread.high * gpu.warp);
    Index place = e.add(e.mul(warpHigh, e.constant(gpu.warp)), lane);
    auto at = [&](size_t i) { return e.add(e.mul(e.constant(int64_t(i)), many), place).base; };
    Value gives = e.compare(arith::CmpIPredicate::eq, warpWide, e.constant(wide));
    auto branch = scf::IfOp::create(b, loc(), gives, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      e.forget();
      for (auto [i, state] : llvm::enumerate(given))
        gpu.storeShared(state, exchange, at(i));
      e.forget();
    }
    gpu.barrier();
    SmallVector<Value> other;
    for (size_t i = 0; i < own.size(); ++i)
      other.push_back(gpu.loadShared(b.getF32Type(), exchange, at(i)));
    gpu.barrier(); // all threads have loaded the states before the next warp overwrites them
    return merged(own, other);
  }

  /// Merges two lists of states for the same rows, computed from different columns.
  SmallVector<Value> merged(ArrayRef<Value> own, ArrayRef<Value> other) {
    SmallVector<Value> merged(own);
    SmallVector<Index> anywhere = placeOf(0, e.constant(0));
    const size_t rows = numRows();
    SmallVector<Value> mine(rows), others(rows);
    for (size_t r = 0; r < rows; ++r) {
      merged[r] = merge(online.maximum, own[r], other[r]);
      Value maximum = subtracted(merged[r]);
      mine[r] = power(own[r], maximum, anywhere);
      others[r] = power(other[r], maximum, anywhere);
    }
    for (size_t i = rows; i < own.size(); ++i) {
      size_t r = i < 2 * rows ? i - rows : rowOf(i - 2 * rows);
      bool ofSum = i < 2 * rows;
      merged[i] =
          arith::AddFOp::create(b, loc(), arith::MulFOp::create(b, loc(), own[i], ofSum ? mine[r] : ofValues(mine[r])),
                                arith::MulFOp::create(b, loc(), other[i], ofSum ? others[r] : ofValues(others[r])));
    }
    return merged;
  }

  /// Combines the states of all column splits of a row tile. Returns the combined states in the
  /// last block of the row tile, and unspecified values in the other blocks.
  SmallVector<Value> mergedParts(const SmallVector<Value> &own) {
    SmallVector<Type> types(own.size(), b.getF32Type());
    types.push_back(b.getI1Type());
    Value yes = arith::ConstantOp::create(b, loc(), b.getBoolAttr(true)), several = parts.areSeveral();
    e.forget();
    auto branch = scf::IfOp::create(b, loc(), types, several ? several : yes, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      SmallVector<Value> all = metParts(own);
      all.push_back(hasAll);
      scf::YieldOp::create(b, loc(), all);
      b.setInsertionPointToStart(branch.elseBlock());
      all = own;
      all.push_back(yes);
      scf::YieldOp::create(b, loc(), all);
    }
    e.forget();
    hasAll = branch.getResults().back();
    return llvm::map_to_vector(branch.getResults().drop_back(), [](OpResult r) { return Value(r); });
  }

  SmallVector<Value> metParts(ArrayRef<Value> own) {
    // Among the warps that share rows, warp 0 has their merged states and stores them. Lanes whose
    // rows are out of range store nothing.
    Value gives = e.logicalAnd(exists[0], e.compare(arith::CmpIPredicate::eq, warpWide, e.constant(0)));
    auto branch = scf::IfOp::create(b, loc(), gives, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      parts.give(item, part, warpHigh, own);
    }
    e.forget();
    hasAll = parts.isLast(item);
    Value takes = e.logicalAnd(hasAll, gives), none = online.maximum.identity(b, loc(), 0)[0];
    Index zero = e.constant(0);
    Value count = arith::SelectOp::create(b, loc(), takes, e.expression(parts.count()).base, zero.base);
    SmallVector<Value> start(own.size(), number(0));
    std::fill_n(start.begin(), numRows(), none);
    e.forget();
    auto loop = scf::ForOp::create(b, loc(), zero.base, count, e.constant(1).base, start);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      SmallVector<Value> other = parts.taken(item, {loop.getInductionVar()}, warpHigh, own.size());
      scf::YieldOp::create(b, loc(), merged(SmallVector<Value>(loop.getRegionIterArgs()), other));
    }
    e.forget();
    return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
  }
};

} // namespace

void emitOnlineAttention(KernelContext &k, OpBuilder &b, const FusedAttention &attention,
                         plan::GpuAttentionAttr schedule, const std::optional<Buffer> &memory,
                         const OnlineRows &online) {
  OnlineAttention(k, b, attention, schedule, memory, online).run();
}

} // namespace hewn::codegen
