// SPDX-License-Identifier: Apache-2.0
//
// GPU row-wise reductions. A team of threads reduces a row with a stride of the team size. The
// threads combine their partial results with shuffles within a warp and through shared memory
// between warps; then each thread has the row's result.
#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Codegen/GPU/GpuEngine.h"
#include "lib/Codegen/GPU/Loops/GpuLoops.h"
#include "lib/Codegen/Loops/RowElements.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

namespace {

/// `size` is the number of threads that reduce a row, `threads` the number of threads of a block.
struct Team {
  int64_t size, threads;
};

class GpuRowEmitter {
public:
  GpuRowEmitter(KernelContext &k, OpBuilder &b, const RowProgram &rows, plan::GpuRowsAttr schedule,
                std::optional<GpuWide> wide)
      : k(k), b(b), rows(rows), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), at(rows.space.size()),
        inner(rowDims(rows).inner), outer(rowDims(rows).outer), width(graph::numElements(dimsOf(inner))),
        team{schedule.getRowThreads(), schedule.getThreads()}, wide(std::move(wide)) {}

  void run() {
    DimExpr count = graph::numElements(dimsOf(outer));
    GpuBuilder made(k, e, team.threads);
    gpu = &made;
    for (Index &index : at)
      index = e.constant(0);
    if (team.size == 1) {
      member = e.constant(0);
      return gpu->overThreads(dimsOf(outer), [&](ArrayRef<Index> indices) {
        setOuter(indices);
        row({});
      });
    }
    if (team.size > gpu->warp)
      makeMeetingPlaces();
    member = e.mod({gpu->thread}, e.constant(team.size));
    int64_t each = team.threads / team.size;
    Index own = e.floorDiv({gpu->thread}, e.constant(team.size)), last = e.sub(e.expression(count), e.constant(1));
    gpu->overBlocks(count.ceilDiv(each), [&](Index item) {
      // Threads without a row process the last row again, because all threads must reach the
      // barriers. They write nothing.
      Index number = e.add(e.mul(item, e.constant(each)), own);
      Value exists = each > 1 ? e.compare(arith::CmpIPredicate::sle, number, last) : Value();
      setOuter(e.unravel(each > 1 ? e.min(number, last) : number, dimsOf(outer)));
      row(exists);
    });
  }

private:
  KernelContext &k;
  OpBuilder &b;
  const RowProgram &rows;
  ElementEmitter e;
  SmallVector<Index> at;
  const SmallVector<int64_t> inner, outer; // in memory order
  const DimExpr width;
  const Team team;
  GpuBuilder *gpu = nullptr;
  Index member; // index of this thread in its team, and of its first element
  /// Vectorization along the rows, if their elements are contiguous.
  const std::optional<GpuWide> wide;
  SmallVector<Value> places;

  Location loc() { return k.loc(); }
  Dims dimsOf(ArrayRef<int64_t> list) {
    return llvm::map_to_vector<4>(list, [&](int64_t d) { return rows.space[d]; });
  }
  void setOuter(ArrayRef<Index> indices) {
    for (auto [d, index] : llvm::zip(outer, indices))
      at[d] = index;
  }

  /// Allocates shared memory in which warps combine their states: one value per warp, for each
  /// state of each pass.
  void makeMeetingPlaces() {
    for (const auto &pass : rows.passes) {
      SmallVector<Value> states = rowIdentities(e, pass);
      for (auto [i, state] : llvm::enumerate(states)) {
        // Each pass over a row has shared memory of its own, so that it need not wait until all
        // threads have read that of the previous pass.
        places.push_back(gpu->shared(team.threads / gpu->warp, state.getType()));
      }
    }
  }

  void row(Value exists) {
    unsigned nextPlace = 0;
    for (const auto &reductions : rows.passes)
      pass(reductions, nextPlace);
    auto guarded = [&](Value condition, llvm::function_ref<void()> body) {
      if (!condition)
        return body();
      auto branch = scf::IfOp::create(b, loc(), condition, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      e.forget();
      body();
      e.forget();
    };
    guarded(exists, [&] {
      Value leads = team.size > 1 ? e.compare(arith::CmpIPredicate::eq, member, e.constant(0)) : Value();
      guarded(leads, [&] { writeRowResults(k, e, rows, at); });
      writeRows();
    });
    if (team.size > gpu->warp)
      gpu->barrier(); // all threads have read the shared memory before the next row overwrites it
    unbindFinished(e, rows);
  }

  /// Writes the results that have one element per element of the row.
  void writeRows() {
    SmallVector<unsigned> list = resultsAlongRow(rows);
    if (list.empty())
      return;
    if (wide)
      return writeWide(list);
    overRow(firstElement(), e.expression(width), {}, [&](ValueRange) -> SmallVector<Value> {
      writeElements(k, e, list, at);
      return {};
    });
  }

  void writeWide(ArrayRef<unsigned> list) {
    SmallVector<SmallVector<Value>> values(list.size());
    auto write = [&](ValueRange) -> SmallVector<Value> {
      for (auto [lanes, r] : llvm::zip(values, list))
        lanes.push_back(e.read(k.results[r], at));
      if (int64_t(values[0].size()) < wide->lanes())
        return {};
      SmallVector<Index> first(at);
      first[inner[0]] = e.sub(at[inner[0]], e.constant(wide->lanes() - 1));
      for (auto [lanes, r] : llvm::zip(values, list))
        wide->write(e, r, first, lanes);
      return {};
    };
    overRow(firstElement(), e.expression(width), {}, write);
  }

  /// Number of adjacent elements that a thread reads at once.
  int64_t lanes() const { return wide ? wide->lanes() : 1; }
  Index firstElement() { return e.mul(member, e.constant(lanes())); }

  /// Emits a loop that runs `body` for this thread's elements of the row in [from, to) and carries
  /// `states`.
  SmallVector<Value> overRow(Index from, Index to, ValueRange states,
                             llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
    e.forget();
    auto loop = scf::ForOp::create(b, loc(), from.base, to.base, e.constant(team.size * lanes()).base, states);
    OpBuilder::InsertionGuard guard(b);
    if (states.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToStart(loop.getBody());
    SmallVector<Index> saved(at);
    SmallVector<Index> indices = e.unravel({loop.getInductionVar()}, dimsOf(inner));
    for (auto [d, index] : llvm::zip(inner, indices))
      at[d] = index;
    SmallVector<Value> next(loop.getRegionIterArgs());
    if (wide) {
      SmallVector<Index> first(at);
      wide->overLanes(e, first, [&](ArrayRef<Index> own) {
        at.assign(own.begin(), own.end());
        next = body(next);
      });
    } else {
      next = body(next);
    }
    if (!states.empty())
      scf::YieldOp::create(b, loc(), next);
    at = saved;
    e.forget();
    return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
  }

  /// Merges the states of the team's threads, in the same order in every thread.
  SmallVector<Value> meet(ArrayRef<ReduceOpInterface> reductions, SmallVector<Value> states, unsigned &nextPlace) {
    for (int64_t distance = std::min(team.size, gpu->warp) / 2; distance > 0; distance /= 2) {
      SmallVector<Value> other =
          llvm::map_to_vector(states, [&](Value state) { return gpu->shuffle(state, distance); });
      states = mergeStates(e, reductions, states, other);
    }
    if (team.size <= gpu->warp)
      return states;
    Value warp = e.floorDiv({gpu->thread}, e.constant(gpu->warp)).base;
    ArrayRef<Value> mine = ArrayRef(places).slice(nextPlace, states.size());
    nextPlace += states.size();
    for (auto [state, place] : llvm::zip(states, mine))
      gpu->storeShared(state, place, warp);
    gpu->barrier();
    SmallVector<Type> types = llvm::map_to_vector(states, [](Value v) { return v.getType(); });
    states.clear();
    for (int64_t w = 0; w < team.threads / gpu->warp; ++w) {
      SmallVector<Value> other;
      for (auto [type, place] : llvm::zip(types, mine))
        other.push_back(gpu->loadShared(type, place, e.constant(w).base));
      states = states.empty() ? other : mergeStates(e, reductions, states, other);
    }
    return states;
  }

  void pass(ArrayRef<ReduceOpInterface> reductions, unsigned &nextPlace) {
    auto block = [&](Index from, Index to, ValueRange states) {
      return overRow(from, to, states,
                     [&](ValueRange carried) { return appendElement(e, rows, reductions, carried, at); });
    };
    int64_t stride = team.size * lanes();
    SmallVector<Value> states =
        blockedSum(e, reductions)
            .range(firstElement(), e.expression(width), stride, width.ceilDiv(stride).constant(), lanes(),
                   rowIdentities(e, reductions), block);
    if (team.size > 1)
      states = meet(reductions, states, nextPlace);
    bindFinished(e, rows, reductions, states);
  }
};

} // namespace

GpuRowDims rowDims(const RowProgram &rows) {
  GpuRowDims dims;
  for (int64_t d : rows.order) {
    bool isReduced = llvm::is_contained(rows.reduced, d);
    (isReduced ? dims.inner : dims.outer).push_back(d);
    if (!rows.space[d].is(1))
      dims.sideBySide = !isReduced;
  }
  return dims;
}

std::optional<GpuWide> wideRows(KernelContext &k, const RowProgram &rows, std::optional<int64_t> lanes) {
  SmallVector<int64_t> inner = rowDims(rows).inner;
  return inner.size() == 1 ? GpuWide::along(k, rows.space, unsigned(inner[0]), resultsAlongRow(rows), lanes)
                           : std::nullopt;
}

LogicalResult emitGpuRows(KernelContext &k, OpBuilder &b, plan::GpuRowsAttr schedule) {
  OrReason<RowProgram> rows = planRows(k);
  if (!rows)
    return refuse(k, schedule) << ", but the kernel has no row-wise reductions";
  int64_t team = schedule.getRowThreads(), warp = plan::gpuOf(k.kernel).getWarpSize();
  if (team > warp ? team != schedule.getThreads() : !llvm::isPowerOf2_64(uint64_t(team)))
    return refuse(k, schedule)
           << ", but the threads per row must be a power of two up to a warp, or all threads of a block";
  std::optional<GpuWide> wide;
  if (schedule.getWidth() > 1 && !(wide = wideRows(k, *rows, schedule.getWidth())))
    return refuse(k, schedule) << ", but rows are not contiguous and aligned in vectors of " << schedule.getWidth()
                               << " elements";
  GpuRowEmitter(k, b, *rows, schedule, std::move(wide)).run();
  return success();
}

} // namespace hewn::codegen
