// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

/// Enough tasks to even out between any number of threads that a model is likely to get.
constexpr int64_t kEnoughTasks = 64;

DimExpr vectorWork(const DimExpr &elements, int64_t lanes, int64_t instructionsEach) {
  return (elements * DimExpr(instructionsEach)).floorDiv(std::max<int64_t>(lanes, 1));
}

/// Whether tasks are worth their sharing.
static bool isShared(KernelFunction &k, const DimExpr &tasks, const DimExpr &work) {
  int64_t least = plan::costsOf(k.kernel).getForkJoinInstructions();
  bool small = work.constant().value_or(least) < least;
  return !k.nested && !small && tasks.constant().value_or(2) > 1;
}

void overRanges(KernelFunction &k, KernelElements &e, const DimExpr &count, const DimExpr &work,
                llvm::function_ref<void(Index, Index)> body) {
  if (!isShared(k, count, work))
    return body(e.constant(0), e.expression(count));
  func::FuncOp function = k.function;
  Value bounds[2];
  for (Value &bound : bounds) {
    (void)function.insertArgument(function.getNumArguments(), e.b.getIndexType(), {},
                                  e.loc); // bodies take any argument
    bound = function.getArguments().back();
  }
  function->setAttr(plan::kLaunchInfoAttr, plan::TasksAttr::get(e.b.getContext(), count, k.kernel.getSymbolsAttr()));
  body({bounds[0]}, {bounds[1]});
}

void overTasks(KernelFunction &k, KernelElements &e, ArrayRef<DimExpr> counts, const DimExpr &work,
               llvm::function_ref<void(ArrayRef<Index>)> body) {
  // Leading dims until there are enough; a size known only when run may be 1.
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
    auto loop = scf::ForOp::create(e.b, e.loc, begin.base, end.base, e.constant(1).base);
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPoint(loop.getBody()->getTerminator());
    e.forget();
    nest(e.unravel({loop.getInductionVar()}, counts.take_front(leading)));
  });
}

void overSlots(KernelFunction &k, KernelElements &e, int64_t slots, ArrayRef<DimExpr> counts, const DimExpr &work,
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
