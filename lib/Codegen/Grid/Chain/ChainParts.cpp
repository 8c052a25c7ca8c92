// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Chain/ChainParts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

/// Behind the counter by which blocks wait for each other.
constexpr int64_t kFirstCounter = 1, kCounterBytes = 4;

ChainParts::ChainParts(KernelFunction &k, KernelElements &e, Grid &grid, const Chain &chain,
                       plan::GridChainAttr schedule, const std::optional<Buffer> &given)
    : e(e), grid(grid), parts(plan::gridChainSplits(chain, schedule)), high(schedule.getWarpsM()) {
  if (parts.is(1))
    return;
  memory = *given;
  Builder b(k.function.getContext());
  k.function.setArgAttr(cast<BlockArgument>(memory.memref).getArgNumber(), plan::kSharedArgumentAttr, b.getUnitAttr());
  // There are no more items than these blocks where there are several parts of each.
  int64_t most = plan::gridChainItems(chain, plan::spreadOf(schedule)).constant().value_or(schedule.getBlocks());
  plan::changeGridLaunch(k.function, [&](plan::GridLaunch &launch) { launch.counters = kFirstCounter + most; });
  unsigned number = k.function.getNumArguments();
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  if (succeeded(k.function.insertArgument(number, type, {}, k.loc()))) // always: the function is our own
    counters = k.function.getArgument(number);
  answer = grid.shared(1, b.getI32Type());
}

Value ChainParts::areSeveral() {
  return parts.constant() ? Value() : e.compare(arith::CmpIPredicate::slt, e.constant(1), e.expression(parts));
}

Index ChainParts::place(Index item, Index warp, size_t number, size_t state) {
  Index line = e.add(e.mul(item, e.constant(high)), warp);
  line = e.add(e.mul(line, e.constant(int64_t(number))), e.constant(int64_t(state)));
  return e.add(e.mul(line, e.constant(grid.warp)), e.mod({grid.thread}, e.constant(grid.warp)));
}

void ChainParts::give(Index item, Index part, Index warp, ArrayRef<Value> states) {
  for (auto [i, state] : llvm::enumerate(states))
    e.write(memory, {part, place(item, warp, states.size(), i)}, state);
}

SmallVector<Value> ChainParts::taken(Index item, Index part, Index warp, size_t number) {
  SmallVector<Value> states;
  for (size_t i = 0; i < number; ++i)
    states.push_back(e.load(memory, {part, place(item, warp, number, i)}));
  return states;
}

Value ChainParts::isLast(Index item) {
  OpBuilder &b = e.b;
  Index counter =
      e.add(grid.address(counters), e.mul(e.add(item, e.constant(kFirstCounter)), e.constant(kCounterBytes)));
  Value zero = e.constant(0).base, all = e.expression(parts).base;
  auto narrow = [&](Value index) -> Value { return arith::IndexCastOp::create(b, e.loc, b.getI32Type(), index); };
  Value before = narrow(e.sub(e.expression(parts), e.constant(1)).base);
  auto isBefore = [&](Value count) -> Value {
    return arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::eq, count, before);
  };
  grid.barrier(); // all have given what they have
  Value first = e.compare(arith::CmpIPredicate::eq, {grid.thread}, e.constant(0));
  auto branch = scf::IfOp::create(b, e.loc, first, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    Value one = arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(1));
    Value found = grid.count(counter, one);
    grid.storeShared(found, answer, zero);
    auto last = scf::IfOp::create(b, e.loc, isBefore(found), /*withElseRegion=*/false);
    b.setInsertionPoint(last.thenBlock()->getTerminator());
    grid.count(counter, narrow(arith::SubIOp::create(b, e.loc, zero, all)));
  }
  grid.barrier();
  e.forget();
  return isBefore(grid.loadShared(b.getI32Type(), answer, zero));
}

} // namespace hewn::codegen
