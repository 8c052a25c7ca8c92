// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/Attention/AttentionPartials.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::FusedAttention;
using hewn::graph::Index;

namespace hewn::codegen {

/// Index of a launch's first counter for row tiles (counter 0 is the one of grid-wide barriers),
/// and bytes per counter.
constexpr int64_t kFirstCounter = 1, kCounterBytes = 4;

AttentionPartials::AttentionPartials(KernelContext &k, ElementEmitter &e, GpuBuilder &gpu,
                                     const FusedAttention &attention, plan::GpuAttentionAttr schedule,
                                     const std::optional<Buffer> &given)
    : e(e), gpu(gpu), parts(plan::gpuAttentionSplits(attention, schedule)), high(schedule.getWarpsM()) {
  if (parts.is(1))
    return;
  memory = *given;
  Builder b(k.function.getContext());
  k.function.setArgAttr(cast<BlockArgument>(memory.memref).getArgNumber(), plan::kSharedArgumentAttr, b.getUnitAttr());
  // Each row tile of the attention kernel has a counter. If the number of row tiles is dynamic, the
  // schedule's number of blocks bounds it, since columns are split only if row tiles do not occupy
  // all blocks.
  int64_t most = plan::gpuAttentionItems(attention, plan::spreadOf(schedule)).constant().value_or(schedule.getBlocks());
  plan::changeGpuLaunch(k.function, [&](plan::GpuLaunch &launch) { launch.counters = kFirstCounter + most; });
  unsigned number = k.function.getNumArguments();
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  // Adding an argument cannot fail, because this pass has created the function.
  if (succeeded(k.function.insertArgument(number, type, {}, k.loc())))
    counters = k.function.getArgument(number);
  answer = gpu.shared(1, b.getI32Type());
}

Value AttentionPartials::areSeveral() {
  return parts.constant() ? Value() : e.compare(arith::CmpIPredicate::slt, e.constant(1), e.expression(parts));
}

Index AttentionPartials::place(Index item, Index warp, size_t number, size_t state) {
  Index line = e.add(e.mul(item, e.constant(high)), warp);
  line = e.add(e.mul(line, e.constant(int64_t(number))), e.constant(int64_t(state)));
  return e.add(e.mul(line, e.constant(gpu.warp)), e.mod({gpu.thread}, e.constant(gpu.warp)));
}

void AttentionPartials::give(Index item, Index part, Index warp, ArrayRef<Value> states) {
  for (auto [i, state] : llvm::enumerate(states))
    e.write(memory, {part, place(item, warp, states.size(), i)}, state);
}

SmallVector<Value> AttentionPartials::taken(Index item, Index part, Index warp, size_t number) {
  SmallVector<Value> states;
  for (size_t i = 0; i < number; ++i)
    states.push_back(e.load(memory, {part, place(item, warp, number, i)}));
  return states;
}

Value AttentionPartials::isLast(Index item) {
  OpBuilder &b = e.b;
  Index counter =
      e.add(gpu.address(counters), e.mul(e.add(item, e.constant(kFirstCounter)), e.constant(kCounterBytes)));
  Value zero = e.constant(0).base, all = e.expression(parts).base;
  auto narrow = [&](Value index) -> Value { return arith::IndexCastOp::create(b, e.loc, b.getI32Type(), index); };
  Value before = narrow(e.sub(e.expression(parts), e.constant(1)).base);
  auto isBefore = [&](Value count) -> Value {
    return arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::eq, count, before);
  };
  gpu.barrier(); // all threads have stored their states
  Value first = e.compare(arith::CmpIPredicate::eq, {gpu.thread}, e.constant(0));
  auto branch = scf::IfOp::create(b, e.loc, first, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    Value one = arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(1));
    Value found = gpu.count(counter, one);
    gpu.storeShared(found, answer, zero);
    auto last = scf::IfOp::create(b, e.loc, isBefore(found), /*withElseRegion=*/false);
    b.setInsertionPoint(last.thenBlock()->getTerminator());
    gpu.count(counter, narrow(arith::SubIOp::create(b, e.loc, zero, all)));
  }
  gpu.barrier();
  e.forget();
  return isBefore(gpu.loadShared(b.getI32Type(), answer, zero));
}

} // namespace hewn::codegen
