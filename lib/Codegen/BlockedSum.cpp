// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/BlockedSum.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

/// Returns the number of iterations of a block: the greatest divisor of `trips` that is at most
/// `most`, if blocks of that size are not short; otherwise a size that makes blocks about equal.
static int64_t blockSize(int64_t trips, int64_t most) {
  for (int64_t size = most; size > 0 && 4 * size >= most; --size)
    if (trips % size == 0)
      return size;
  return llvm::divideCeil(trips, llvm::divideCeil(trips, most));
}

BlockedSum::BlockedSum(ElementEmitter &e, States identity, Merge merge)
    : e(e), identity(std::move(identity)), merge(std::move(merge)) {
  ScratchEmission scratch(e.b, e.loc);
  auto any = [&](Value value) { return scratch.any(value.getType()); };
  States left = llvm::map_to_vector(this->identity, any), right = llvm::map_to_vector(this->identity, any);
  this->merge(left, right);
  rounds = llvm::any_of(scratch.ops(), llvm::IsaPred<arith::AddFOp>);
}

BlockedSum::States BlockedSum::restart(ValueRange state, llvm::function_ref<States(ValueRange)> body) const {
  return merge(state, body(identity));
}

BlockedSum::States BlockedSum::forLoop(Index from, Index to, int64_t step, ValueRange state,
                                       llvm::function_ref<States(Index, ValueRange)> body) const {
  OpBuilder &b = e.b;
  auto loop = scf::ForOp::create(b, e.loc, from.base, to.base, e.constant(step).base, state);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    e.forget();
    scf::YieldOp::create(b, e.loc, body({loop.getInductionVar()}, loop.getRegionIterArgs()));
  }
  e.forget();
  return States(loop.getResults());
}

BlockedSum::States BlockedSum::blocks(Index from, Index to, int64_t step, std::optional<int64_t> trips, int64_t most,
                                      ValueRange state, Loop loop) const {
  if (!rounds || state.empty() || (trips && *trips <= most))
    return loop(from, to, state);
  // Blocks of blocks bound the number of partial sums that are added to one accumulator.
  bool twice = !trips || *trips > most * kSumBlock;
  int64_t size = (twice ? most : blockSize(*trips, most)) * step;
  bool isEven = trips && *trips * step % size == 0;
  auto inBlocks = [&](Index begin, Index end, ValueRange outer) {
    return forLoop(begin, end, size, outer, [&](Index first, ValueRange carried) {
      Index last = e.add(first, e.constant(size));
      if (!isEven)
        last = e.min(last, end);
      return restart(carried, [&](ValueRange partial) { return loop(first, last, partial); });
    });
  };
  if (!twice)
    return inBlocks(from, to, state);
  return forLoop(from, to, size * kSumBlock, state, [&](Index first, ValueRange carried) {
    Index last = e.min(e.add(first, e.constant(size * kSumBlock)), to);
    return restart(carried, [&](ValueRange partial) { return inBlocks(first, last, partial); });
  });
}

BlockedSum::States BlockedSum::nest(ArrayRef<DimExpr> extents, int64_t perIteration, int64_t unrollLimit,
                                    ValueRange state, Body body) const {
  auto additions = [&](ArrayRef<DimExpr> dims) -> std::optional<int64_t> {
    std::optional<int64_t> count = graph::numElements(dims).constant();
    return count ? std::optional(*count * perIteration) : std::nullopt;
  };
  auto isShort = [&](std::optional<int64_t> count) { return count && *count <= kSumBlock; };
  if (!rounds || state.empty() || extents.empty() || isShort(additions(extents)))
    return e.loopNest(extents, state, unrollLimit, body);
  // Iterations over the first dim are joined in blocks if the other dims are short. Otherwise, each
  // iteration forms blocks of its own.
  ArrayRef<DimExpr> rest = extents.drop_front();
  const DimExpr &extent = extents.front();
  std::optional<int64_t> inside = additions(rest);
  bool joins = isShort(inside);
  int64_t most = joins ? std::max<int64_t>(kSumBlock / std::max<int64_t>(*inside, 1), 1) : kSumBlock;
  auto iteration = [&](Index index, ValueRange carried) {
    auto all = [&](ArrayRef<Index> inner, ValueRange states) {
      SmallVector<Index> at = {index};
      at.append(inner.begin(), inner.end());
      return body(at, states);
    };
    if (joins)
      return e.loopNest(rest, carried, unrollLimit, all);
    return restart(carried, [&](ValueRange partial) { return nest(rest, perIteration, unrollLimit, partial, all); });
  };
  return blocks(e.constant(0), e.expression(extent), 1, extent.constant(), most, state,
                [&](Index from, Index to, ValueRange carried) {
                  if (most == 1)
                    return iteration(from, carried);
                  return forLoop(from, to, 1, carried, iteration);
                });
}

void BlockedSum::scan(const DimExpr &extent, ValueRange state,
                      llvm::function_ref<States(Index, ValueRange, ValueRange)> step) const {
  std::optional<int64_t> length = extent.constant();
  if (!rounds || (length && *length <= kSumBlock)) {
    e.loopNest({extent}, state, 1, [&](ArrayRef<Index> at, ValueRange carried) { return step(at[0], {}, carried); });
    return;
  }
  // Blocks of blocks: `outer` has the elements before a block of blocks, `inner` those of the
  // blocks before a block.
  Index zero = e.constant(0), end = e.expression(extent);
  int64_t size = kSumBlock * kSumBlock;
  forLoop(zero, end, size, state, [&](Index first, ValueRange outer) {
    Index middle = e.min(e.add(first, e.constant(size)), end);
    return restart(outer, [&](ValueRange start) {
      return forLoop(first, middle, kSumBlock, start, [&](Index begin, ValueRange inner) {
        Index last = e.min(e.add(begin, e.constant(kSumBlock)), middle);
        States before = merge(outer, inner);
        return restart(inner, [&](ValueRange own) {
          return forLoop(begin, last, 1, own, [&](Index at, ValueRange carried) { return step(at, before, carried); });
        });
      });
    });
  });
}

} // namespace hewn::codegen
