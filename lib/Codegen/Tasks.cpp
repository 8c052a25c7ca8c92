// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

/// Number of tasks that balances the load for all usual numbers of threads.
constexpr int64_t kEnoughTasks = 64;

DimExpr vectorWork(const DimExpr &elements, int64_t lanes, int64_t instructionsEach) {
  return (elements * DimExpr(instructionsEach)).floorDiv(std::max<int64_t>(lanes, 1));
}

/// Returns true if it is profitable to run the tasks in parallel.
static bool isShared(KernelContext &k, const DimExpr &tasks, const DimExpr &work) {
  int64_t least = plan::costsOf(k.kernel).getForkJoinInstructions();
  bool small = work.constant().value_or(least) < least;
  return !k.nested && !small && tasks.constant().value_or(2) > 1;
}

void overRanges(KernelContext &k, ElementEmitter &e, const DimExpr &count, const DimExpr &work,
                llvm::function_ref<void(Index, Index)> body) {
  if (!isShared(k, count, work))
    return body(e.constant(0), e.expression(count));
  func::FuncOp function = k.function;
  Value bounds[2];
  for (Value &bound : bounds) {
    (void)function.insertArgument(function.getNumArguments(), e.b.getIndexType(), {},
                                  // adding an argument cannot fail: function bodies accept any
                                  e.loc);
    bound = function.getArguments().back();
  }
  function->setAttr(plan::kLaunchInfoAttr, plan::TasksAttr::get(e.b.getContext(), count, k.kernel.getSymbolsAttr()));
  body({bounds[0]}, {bounds[1]});
}

/// Emits a loop over the linear indices [begin, end) of a nest. Its indices along the dims are
/// loop-carried counters, so that only the first ones take divisions.
static void countingLoop(ElementEmitter &e, Index begin, Index end, ArrayRef<DimExpr> counts,
                         llvm::function_ref<void(ArrayRef<Index>)> body) {
  OpBuilder &b = e.b;
  graph::Dims nonzero; // the loop may have no iterations because a count is 0
  for (const DimExpr &count : counts)
    nonzero.push_back(DimExpr::max(count, DimExpr(1)));
  SmallVector<Index> at = e.unravel(begin, nonzero);
  SmallVector<unsigned> dims;
  SmallVector<Value> first, ends;
  for (auto [d, count] : llvm::enumerate(counts))
    if (!count.is(1)) {
      dims.push_back(d);
      first.push_back(at[d].base);
      ends.push_back(e.expression(count).base);
    }
  Value zero = e.constant(0).base, one = e.constant(1).base;
  auto loop = scf::ForOp::create(b, e.loc, begin.base, end.base, one, first);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    e.forget();
    for (auto [d, index] : llvm::zip(dims, loop.getRegionIterArgs()))
      at[d] = {index};
    body(at);
    // Counts up the innermost index, and each index outside of one that reaches its end.
    SmallVector<Value> next(loop.getRegionIterArgs());
    Value carry;
    for (unsigned i = dims.size(); i-- > 0;) {
      Value up = arith::AddIOp::create(b, e.loc, next[i], one);
      up = carry ? arith::SelectOp::create(b, e.loc, carry, up, next[i]).getResult() : up;
      Value wraps = arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::eq, up, ends[i]);
      next[i] = i == 0 ? up : arith::SelectOp::create(b, e.loc, wraps, zero, up).getResult();
      carry = wraps;
    }
    scf::YieldOp::create(b, e.loc, next);
  }
  e.forget();
}

void overTasks(KernelContext &k, ElementEmitter &e, ArrayRef<DimExpr> counts, const DimExpr &work,
               llvm::function_ref<void(ArrayRef<Index>)> body) {
  // Form tasks from the leading dims of the nest: take dims until there are enough tasks. A dynamic
  // size counts as 1.
  unsigned leading = 0;
  DimExpr tasks(1);
  for (int64_t least = 1; leading < counts.size() && least < kEnoughTasks; ++leading) {
    tasks = tasks * counts[leading];
    least *= counts[leading].constant().value_or(1);
  }
  auto nest = [&](ArrayRef<Index> outer) {
    e.loopNest(counts.drop_front(outer.size()), {}, 1, [&](ArrayRef<Index> inner, ValueRange) -> SmallVector<Value> {
      SmallVector<Index> at(outer);
      at.append(inner.begin(), inner.end());
      body(at);
      return {};
    });
  };
  if (!isShared(k, tasks, work))
    return nest({});
  overRanges(k, e, tasks, work, [&](Index begin, Index end) {
    // A division by a constant is a multiplication.
    bool divides = llvm::any_of(counts.take_front(leading).drop_front(), [](auto &count) { return !count.constant(); });
    if (divides)
      return countingLoop(e, begin, end, counts.take_front(leading), nest);
    auto loop = scf::ForOp::create(e.b, e.loc, begin.base, end.base, e.constant(1).base);
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(loop.getBody()->getTerminator());
    e.forget();
    nest(e.unravel({loop.getInductionVar()}, counts.take_front(leading)));
  });
}

void overSlots(KernelContext &k, ElementEmitter &e, int64_t slots, ArrayRef<DimExpr> counts, const DimExpr &work,
               llvm::function_ref<void(Index)> enter, llvm::function_ref<void(ArrayRef<Index>)> body) {
  overTasks(k, e, {DimExpr(slots)}, work, [&](ArrayRef<Index> slot) {
    Index all = e.expression(graph::numElements(counts));
    Index share = e.floorDiv(e.add(all, e.constant(slots - 1)), e.constant(slots));
    Index begin = e.mul(slot[0], share), end = e.min(e.add(begin, share), all);
    enter(slot[0]);
    e.forEach(begin, end, 1, [&](Index linear) { body(e.unravel(linear, counts)); });
  });
}

} // namespace hewn::codegen
