// SPDX-License-Identifier: Apache-2.0
//
// Row programs on a grid: the threads of a team take every so-manyth element of a row, their partial results meet in
// registers (within a warp) and in shared memory (between warps), and then each thread knows the row's result.
#include "lib/Codegen/Grid/Grid.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Loops/GridLoops.h"
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

/// Threads of a row, and of a block.
struct Team {
  int64_t size, threads;
};

class GridRowEmitter {
public:
  GridRowEmitter(KernelFunction &k, OpBuilder &b, const RowProgram &rows, plan::GridRowsAttr schedule,
                 std::optional<GridWide> wide)
      : k(k), b(b), rows(rows), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), at(rows.space.size()),
        inner(rowDims(rows).inner), outer(rowDims(rows).outer), width(graph::numElements(dimsOf(inner))),
        team{schedule.getRowThreads(), schedule.getThreads()}, wide(std::move(wide)) {}

  void run() {
    DimExpr count = graph::numElements(dimsOf(outer));
    Grid made(k, e, team.threads);
    grid = &made;
    for (Index &index : at)
      index = e.constant(0);
    if (team.size == 1) {
      member = e.constant(0);
      return grid->overThreads(dimsOf(outer), [&](ArrayRef<Index> indices) {
        setOuter(indices);
        row({});
      });
    }
    if (team.size > grid->warp)
      makeMeetingPlaces();
    member = e.mod({grid->thread}, e.constant(team.size));
    int64_t each = team.threads / team.size;
    Index own = e.floorDiv({grid->thread}, e.constant(team.size)), last = e.sub(e.expression(count), e.constant(1));
    grid->overBlocks(count.ceilDiv(each), [&](Index item) {
      // Threads beyond the last row do it once more, since all must meet, but write nothing.
      Index number = e.add(e.mul(item, e.constant(each)), own);
      Value exists = each > 1 ? e.compare(arith::CmpIPredicate::sle, number, last) : Value();
      setOuter(e.unravel(each > 1 ? e.min(number, last) : number, dimsOf(outer)));
      row(exists);
    });
  }

private:
  KernelFunction &k;
  OpBuilder &b;
  const RowProgram &rows;
  KernelElements e;
  SmallVector<Index> at;
  const SmallVector<int64_t> inner, outer; // in memory's order
  const DimExpr width;
  const Team team;
  Grid *grid = nullptr;
  Index member; // of the team: this thread's first element
  /// Several elements at once, where they lie side by side.
  const std::optional<GridWide> wide;
  SmallVector<Value> places;

  Location loc() { return k.loc(); }
  Dims dimsOf(ArrayRef<int64_t> list) {
    return llvm::map_to_vector<4>(list, [&](int64_t d) { return rows.space[d]; });
  }
  void setOuter(ArrayRef<Index> indices) {
    for (auto [d, index] : llvm::zip(outer, indices))
      at[d] = index;
  }

  /// Shared memory for one value of each warp, for as many states as the widest pass has.
  void makeMeetingPlaces() {
    for (const auto &pass : rows.passes) {
      SmallVector<Value> states = rowIdentities(e, pass);
      for (auto [i, state] : llvm::enumerate(states)) {
        // A place a pass and state: passes need not wait for each other's readers.
        places.push_back(grid->shared(team.threads / grid->warp, state.getType()));
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
    if (team.size > grid->warp)
      grid->barrier(); // before the next row's values come to the memory of the exchange
    unbindFinished(e, rows);
  }

  /// The results that have the row's extent.
  void writeRows() {
    SmallVector<unsigned> list = resultsAlongRow(rows);
    if (list.empty())
      return;
    if (wide)
      return writeWide(list);
    overRow({}, [&](ValueRange) -> SmallVector<Value> {
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
    overRow({}, write);
  }

  /// `body` at this thread's elements of the row.
  SmallVector<Value> overRow(ValueRange states, llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
    e.forget();
    int64_t each = wide ? wide->lanes() : 1;
    auto loop = scf::ForOp::create(b, loc(), e.mul(member, e.constant(each)).base, e.expression(width).base,
                                   e.constant(team.size * each).base, states);
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

  /// The team's states merged, in the same order in every thread.
  SmallVector<Value> meet(ArrayRef<ReduceOpInterface> reductions, SmallVector<Value> states, unsigned &nextPlace) {
    for (int64_t distance = std::min(team.size, grid->warp) / 2; distance > 0; distance /= 2) {
      SmallVector<Value> other =
          llvm::map_to_vector(states, [&](Value state) { return grid->shuffle(state, distance); });
      states = mergeStates(e, reductions, states, other);
    }
    if (team.size <= grid->warp)
      return states;
    Value warp = e.floorDiv({grid->thread}, e.constant(grid->warp)).base;
    ArrayRef<Value> mine = ArrayRef(places).slice(nextPlace, states.size());
    nextPlace += states.size();
    for (auto [state, place] : llvm::zip(states, mine))
      grid->storeShared(state, place, warp);
    grid->barrier();
    SmallVector<Type> types = llvm::map_to_vector(states, [](Value v) { return v.getType(); });
    states.clear();
    for (int64_t w = 0; w < team.threads / grid->warp; ++w) {
      SmallVector<Value> other;
      for (auto [type, place] : llvm::zip(types, mine))
        other.push_back(grid->loadShared(type, place, e.constant(w).base));
      states = states.empty() ? other : mergeStates(e, reductions, states, other);
    }
    return states;
  }

  void pass(ArrayRef<ReduceOpInterface> reductions, unsigned &nextPlace) {
    SmallVector<Value> states = overRow(rowIdentities(e, reductions), [&](ValueRange carried) {
      return appendElement(e, rows, reductions, carried, at);
    });
    if (team.size > 1)
      states = meet(reductions, states, nextPlace);
    bindFinished(e, rows, reductions, states);
  }
};

} // namespace

GridRowDims rowDims(const RowProgram &rows) {
  GridRowDims dims;
  for (int64_t d : rows.order) {
    bool isReduced = llvm::is_contained(rows.reduced, d);
    (isReduced ? dims.inner : dims.outer).push_back(d);
    if (!rows.space[d].is(1))
      dims.sideBySide = !isReduced;
  }
  return dims;
}

std::optional<GridWide> wideRows(KernelFunction &k, const RowProgram &rows, std::optional<int64_t> lanes) {
  SmallVector<int64_t> inner = rowDims(rows).inner;
  return inner.size() == 1 ? GridWide::along(k, rows.space, unsigned(inner[0]), resultsAlongRow(rows), lanes)
                           : std::nullopt;
}

LogicalResult emitGridRows(KernelFunction &k, OpBuilder &b, plan::GridRowsAttr schedule) {
  Found<RowProgram> rows = planRows(k);
  if (!rows)
    return refuse(k, schedule) << ", and has no rows that it reduces";
  int64_t team = schedule.getRowThreads(), warp = plan::gridOf(k.kernel).getWarpSize();
  if (team > warp ? team != schedule.getThreads() : !llvm::isPowerOf2_64(uint64_t(team)))
    return refuse(k, schedule) << ", and a row's threads are a power of two up to a warp, or all threads of a block";
  std::optional<GridWide> wide;
  if (schedule.getWidth() > 1 && !(wide = wideRows(k, *rows, schedule.getWidth())))
    return refuse(k, schedule) << ", and rows that do not lie side by side " << schedule.getWidth()
                               << " elements at a time";
  GridRowEmitter(k, b, *rows, schedule, std::move(wide)).run();
  return success();
}

} // namespace hewn::codegen
