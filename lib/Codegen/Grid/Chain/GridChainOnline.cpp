// SPDX-License-Identifier: Apache-2.0
//
// A chain with a softmax between its products, in one pass over the columns (OnlineRows.h).
#include "lib/Codegen/Grid/Chain/GridChain.h"
#include "lib/Codegen/Grid/Chain/OnlineRows.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

class OnlineChain : public GridChain {
public:
  OnlineChain(KernelFunction &k, OpBuilder &b, const Chain &chain, Spread spread, const OnlineRows &online)
      : GridChain(k, b, chain, spread), online(online) {
    if (spread.wide > 1)
      meeting = grid.shared(spread.high * grid.warp * int64_t(4 + numSums()), b.getF32Type());
  }

private:
  OnlineRows online;
  Value meeting;

  /// exp(logit - maximum).
  Value power(Value logit, Value maximum, ArrayRef<Index> at) {
    e.bind(online.logits, logit);
    e.bind(online.maximum->getResult(0), maximum);
    Value value = e.read(online.powers, at);
    e.unbind(online.logits);
    e.unbind(online.maximum->getResult(0));
    return value;
  }

  /// Rows of nothing but minus infinities have no maximum to subtract: their powers are 0.
  Value subtracted(Value maximum) {
    Value none = online.maximum.identity(b, loc(), 0)[0];
    Value isNone = arith::CmpFOp::create(b, loc(), arith::CmpFPredicate::OEQ, maximum, none);
    return arith::SelectOp::create(b, loc(), isNone, number(0), maximum);
  }

  Value merge(ReduceOpInterface reduce, Value x, Value y) { return reduce.merge(b, loc(), {x}, {y})[0]; }

  /// States: the maximum and the sum of each of two rows, then the sums of the second product.
  SmallVector<Value> sumsOfRows() override {
    Value none = online.maximum.identity(b, loc(), 0)[0], zero = number(0);
    SmallVector<Value> start = {none, none, zero, zero};
    start.append(numSums(), zero);
    SmallVector<Value> states =
        overTiles(start, /*adds=*/true, [&](ValueRange carried, ArrayRef<Value> made, Index from) {
          SmallVector<Value> now(carried), logits;
          SmallVector<Value, 2> largest(2, none), maximum, shrink;
          for (auto [i, score] : llvm::enumerate(made)) {
            Index column = columnOf(i, from);
            Value logit = readAt(online.logits, score, placeOf(i, column));
            if (Value has = hasColumn(column))
              logit = e.selectElement(has, logit, none);
            logits.push_back(logit);
            largest[rowOf(i)] = merge(online.maximum, largest[rowOf(i)], logit);
          }
          SmallVector<Index> anywhere = placeOf(0, from);
          for (size_t r = 0; r < 2; ++r) {
            Value all = merge(online.maximum, now[r], meet(online.maximum, {largest[r]})[0]);
            maximum.push_back(subtracted(all));
            shrink.push_back(power(now[r], maximum[r], anywhere));
            now[r] = all;
            now[2 + r] = arith::MulFOp::create(b, loc(), now[2 + r], shrink[r]);
          }
          SmallVector<Value> weights;
          for (auto [i, logit] : llvm::enumerate(logits)) {
            weights.push_back(power(logit, maximum[rowOf(i)], anywhere));
            now[2 + rowOf(i)] = merge(online.sum, now[2 + rowOf(i)], weights.back());
          }
          for (size_t i = 0; i < numSums(); ++i)
            now[4 + i] = arith::MulFOp::create(b, loc(), now[4 + i], shrink[rowOf(i)]);
          SmallVector<Value> sums = addValues(ArrayRef(now).drop_front(4), weights);
          llvm::copy(sums, now.begin() + 4);
          return now;
        });
    for (size_t r = 0; r < 2; ++r)
      states[2 + r] = meet(online.sum, {states[2 + r]})[0];
    const SmallVector<Value> given(states);
    for (int64_t w = 1; w < spread.wide; ++w)
      states = mergedWith(w, given, states);
    SmallVector<Value> sums;
    for (size_t i = 0; i < numSums(); ++i) {
      e.bind(online.powers, states[4 + i]);
      e.bind(online.sum->getResult(0), states[2 + rowOf(i)]);
      sums.push_back(e.read(chain.weights, placeOf(i, e.constant(0))));
      e.unbind(online.powers);
      e.unbind(online.sum->getResult(0));
    }
    return sums;
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
        grid.storeShared(state, meeting, at(i));
      e.forget();
    }
    grid.barrier();
    SmallVector<Value> merged(own), other;
    for (size_t i = 0; i < own.size(); ++i)
      other.push_back(grid.loadShared(b.getF32Type(), meeting, at(i)));
    grid.barrier(); // before the next one's come
    SmallVector<Index> anywhere = placeOf(0, e.constant(0));
    Value mine[2], others[2];
    for (size_t r = 0; r < 2; ++r) {
      merged[r] = merge(online.maximum, own[r], other[r]);
      Value maximum = subtracted(merged[r]);
      mine[r] = power(own[r], maximum, anywhere);
      others[r] = power(other[r], maximum, anywhere);
    }
    for (size_t i = 2; i < own.size(); ++i) {
      size_t r = i < 4 ? i - 2 : rowOf(i - 4);
      merged[i] = arith::AddFOp::create(b, loc(), arith::MulFOp::create(b, loc(), own[i], mine[r]),
                                        arith::MulFOp::create(b, loc(), other[i], others[r]));
    }
    return merged;
  }
};

} // namespace

bool emitOnlineChain(KernelFunction &k, OpBuilder &b, const Chain &chain, GridChain::Spread few, GridChain::Spread many,
                     bool rowsAreFew) {
  KernelElements tried(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  std::optional<OnlineRows> online = onlineRows(tried, chain);
  if (online)
    OnlineChain(k, b, chain, rowsAreFew ? few : many, *online).run();
  return online.has_value();
}

} // namespace hewn::codegen
