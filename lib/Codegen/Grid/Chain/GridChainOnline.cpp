// SPDX-License-Identifier: Apache-2.0
//
// A chain with a softmax between its products, in one pass over the columns (OnlineRows.h).
#include "lib/Codegen/Grid/Chain/GridChain.h"
#include "lib/Codegen/Grid/Chain/OnlineRows.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

class OnlineChain : public GridChain {
public:
  OnlineChain(KernelFunction &k, OpBuilder &b, const Chain &chain, plan::GridChainAttr schedule,
              const std::optional<Buffer> &memory, const OnlineRows &online)
      : GridChain(k, b, chain, schedule, memory), online(online) {
    if (spread.wide > 1)
      exchange = grid.shared(spread.high * grid.warp * int64_t(2 * numRows() + numSums()), b.getF32Type());
  }

private:
  OnlineRows online;
  Value exchange;

  /// exp(logit - maximum).
  Value power(Value logit, Value maximum, ArrayRef<Index> at) {
    e.bind(online.logits, logit);
    e.bind(online.maximum->getResult(0), maximum);
    Value value = e.read(online.powers, at);
    e.unbind(online.logits);
    e.unbind(online.maximum->getResult(0));
    if (factors.isF32())
      return value;
    // Weights are rounded to so few bits that the machine's own power is as good, in two instructions instead of fourteen.
    constexpr double log2OfE = 1.44269504088896341;
    auto exp = value.getDefiningOp<math::ExpOp>(); // what onlineRows has asked for
    Value power = grid.exp2(arith::MulFOp::create(b, loc(), exp.getOperand(), number(log2OfE)));
    exp.erase();
    return power;
  }

  /// Rows of nothing but minus infinities have no maximum to subtract: their powers are 0.
  Value subtracted(Value maximum) {
    Value none = online.maximum.identity(b, loc(), 0)[0];
    Value isNone = arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::OEQ, maximum, none);
    return arith::SelectOp::create(b, loc(), isNone, number(0), maximum);
  }

  /// Whether sums stay those of an earlier maximum while the row's is not far above it: whichever number is subtracted, the quotient is the
  /// same, and narrow weights have as many bits. Only a maximum grows.
  bool isLazy() {
    FloatAttr none;
    return !factors.isF32() && !online.hasLeastSum &&
           matchPattern(online.maximum.identity(b, loc(), 0)[0], m_Constant(&none)) && none.getValue().isInfinity() &&
           none.getValue().isNegative();
  }
  /// So far that weights would be more than 2^8, or no number.
  Value isFarAbove(Value maximum, Value earlier) {
    Value bound = arith::AddFOp::create(b, loc(), earlier, number(5.5));
    return arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::UGT, maximum, bound);
  }

  /// Sums of the rows' powers, and of values, of the maxima `before`, as those of `maximum`; where `grows` does not hold these are the same
  /// (null: they may always differ).
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

  /// States: the maximum of each of this lane's rows, their sums, then the sums of the second product.
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
    for (size_t r = 0; r < rows;
         ++r) // one quotient a row, where results are rounded to fewer bits than that of each has
      inverse[r] = factors.isF32() ? Value() : quotientOf(weight(number(1), states[rows + r], 2 * r));
    for (size_t i = 0; i < numSums(); ++i)
      sums.push_back(quotient(states[2 * rows + i], states[rows + rowOf(i)], inverse[rowOf(i)], i));
    return sums;
  }

  Value weight(Value powers, Value sum, size_t i) {
    e.bind(online.powers, powers);
    e.bind(online.sum->getResult(0), sum);
    Value value = e.read(chain.weights, placeOf(i, e.constant(0)));
    e.unbind(online.powers);
    e.unbind(online.sum->getResult(0));
    return value;
  }

  /// Of a weight, what it is where that is a number.
  Value beforeZeros(Value weight) {
    return online.zeroesNaN ? weight.getDefiningOp<arith::SelectOp>().getFalseValue() : weight;
  }
  /// The same before it is rounded.
  Value quotientOf(Value weight) {
    weight = beforeZeros(weight);
    if (auto wider = weight.getDefiningOp<arith::ExtFOp>())
      if (auto narrower = wider.getIn().getDefiningOp<arith::TruncFOp>())
        return narrower.getIn();
    return weight;
  }

  /// Sum `i` of powers times values, over the sum of the powers, of which `inverse` is the inverse if there is one.
  Value quotient(Value values, Value sum, Value inverse, size_t i) {
    Value value =
        inverse ? Value(arith::MulFOp::create(b, loc(), values, inverse)) : beforeZeros(weight(values, sum, i));
    if (!online.zeroesNaN)
      return value;
    // Of the row's weights, not of what they are multiplied by: such a row is the sum of zeros times the values, which these may not be.
    Value isNaN = weight(sum, sum, i).getDefiningOp<arith::SelectOp>().getCondition();
    return e.selectElement(isNaN, arith::MulFOp::create(b, loc(), values, number(0)), value);
  }

  /// A factor of the values' sums: where weights that are no numbers become 0, it is 0 as well where it is none, so that a sum is no number by
  /// its values alone.
  Value ofValues(Value factor) {
    if (!online.zeroesNaN)
      return factor;
    Value isNaN = arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::UNO, factor, factor);
    return arith::SelectOp::create(b, loc(), isNaN, number(0), factor);
  }

  /// `own` states of this warp's rows and those that warp `wide` has given of them.
  SmallVector<Value> mergedWith(int64_t wide, ArrayRef<Value> given, const SmallVector<Value> &own) {
    Index lane = e.mod({grid.thread}, e.constant(grid.warp)), many = e.constant(spread.high * grid.warp);
    Index place = e.add(e.mul(warpHigh, e.constant(grid.warp)), lane);
    auto at = [&](size_t i) { return e.add(e.mul(e.constant(int64_t(i)), many), place).base; };
    Value gives = e.compare(arith::CmpIPredicate::eq, warpWide, e.constant(wide));
    auto branch = scf::IfOp::create(b, loc(), gives, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      e.forget();
      for (auto [i, state] : llvm::enumerate(given))
        grid.storeShared(state, exchange, at(i));
      e.forget();
    }
    grid.barrier();
    SmallVector<Value> other;
    for (size_t i = 0; i < own.size(); ++i)
      other.push_back(grid.loadShared(b.getF32Type(), exchange, at(i)));
    grid.barrier(); // before the next one's come
    return merged(own, other);
  }

  /// States of the same rows and of other columns, as those of all.
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

  /// Of the block that is the last one, the states of all parts; of others anything.
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
    // One of the warps that share rows has what all of them made; lanes whose rows are beyond the end have nothing.
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

void emitOnlineChain(KernelFunction &k, OpBuilder &b, const Chain &chain, plan::GridChainAttr schedule,
                     const std::optional<Buffer> &memory, const OnlineRows &online) {
  OnlineChain(k, b, chain, schedule, memory, online).run();
}

} // namespace hewn::codegen
