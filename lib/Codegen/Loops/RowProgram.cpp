// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/RowProgram.h"
#include "dialects/Graph/Analysis/Cost.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Loops/RowElements.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-decide-kernels"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

//===------------------------------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------------------------------===//

/// The pass in which each value of the kernel is known: one after the latest reduction that it needs.
static llvm::DenseMap<Value, unsigned> passOf(plan::KernelOp kernel) {
  llvm::DenseMap<Value, unsigned> pass;
  for (Value argument : kernel.getBody().getArguments())
    pass[argument] = 0;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    unsigned latest = 0;
    for (Value operand : op.getOperands())
      latest = std::max(latest, pass.lookup(operand));
    for (Value result : op.getResults())
      pass[result] = latest + isa<ReduceOpInterface>(op);
  }
  return pass;
}

/// Whether the buffer's elements along `inner` and, outside of it, `outer` are those of one dim: neighbours everywhere, or the same. Its
/// dims are the last ones of the space.
static bool joins(const Buffer &buffer, const Dims &space, int64_t outer, int64_t inner) {
  int64_t ahead = int64_t(space.size()) - int64_t(buffer.dims.size());
  auto isThere = [&](int64_t d) { return d >= ahead && !buffer.dims[d - ahead].is(1); };
  auto strideOf = [&](int64_t d) { return isThere(d) ? buffer.strides[d - ahead] : DimExpr(0); };
  return ahead >= 0 && buffer.blockDim < 0 && (!isThere(inner) || buffer.dims[inner - ahead] == space[inner]) &&
         strideOf(outer) == strideOf(inner) * space[inner];
}

static bool isMove(Operation &op) { return isa<graph::MoveOpInterface>(op); }

/// RowProgram::joined.
static SmallVector<int64_t> joinedDims(KernelFunction &k, const RowProgram &rows) {
  auto readsAtOwnIndex = [](Operation &op) {
    auto reduce = dyn_cast<ReduceOpInterface>(op);
    auto constant = dyn_cast<graph::ConstantOp>(op);
    bool single = constant && graph::numElements(graph::getDims(op.getResult(0))).is(1);
    return single || isa<graph::ElementwiseOpInterface>(op) || (reduce && !reduce.usesPosition());
  };
  auto joinsAll = [&](int64_t outer, int64_t inner) {
    auto joinsThese = [&](const Buffer &buffer) { return joins(buffer, rows.space, outer, inner); };
    return llvm::all_of(k.kernel.getBody().getArguments(),
                        [&](Value input) { return joinsThese(k.inputs.find(input)->second); }) &&
           llvm::all_of(llvm::zip(rows.places, k.outputs), [&](auto pair) {
             auto &[place, output] = pair;
             return !place.wholeSpace || joinsThese(output);
           });
  };
  SmallVector<int64_t> joined;
  if (llvm::all_of(k.kernel.getBody().front().without_terminator(), readsAtOwnIndex))
    for (int64_t d : llvm::reverse(rows.order)) {
      if (rows.space[d].is(1))
        continue;
      if (!llvm::is_contained(rows.reduced, d) || (!joined.empty() && !joinsAll(d, joined.front())))
        break;
      joined.insert(joined.begin(), d);
    }
  return joined.size() > 1 ? joined : SmallVector<int64_t>();
}

/// Whether short rows, of `width` elements, are walked faster than they are written down for each element: a row is one run of at least a
/// vector's elements, or what lies beside it is of other rows, and not few. Not windows of something else.
static bool walksShortRows(KernelFunction &k, const RowProgram &rows, int64_t width) {
  constexpr int64_t fewTrips = 8;
  SmallVector<int64_t> order = rows.order;
  llvm::erase_if(order, [&](int64_t d) { return rows.space[d].is(1); });
  int64_t lanes = vectorLanes(k.kernel);
  bool reducesLast = !order.empty() && llvm::is_contained(rows.reduced, order.back());
  size_t dims = llvm::count_if(order, [&](int64_t d) { return llvm::is_contained(rows.reduced, d); });
  bool oneRun = reducesLast && width >= lanes && (dims == 1 || rows.joined.size() == dims);
  bool manyBeside = !order.empty() && !reducesLast && width >= fewTrips &&
                    rows.space[order.back()].constant().value_or(0) >= 2 * lanes;
  return (oneRun || manyBeside) && !plan::gridOf(k.kernel) &&
         llvm::none_of(k.kernel.getBody().front().without_terminator(), isMove);
}

Found<RowProgram> planRows(KernelFunction &k) {
  RowProgram rows;
  llvm::DenseMap<Value, unsigned> pass = passOf(k.kernel);
  for (Operation &op : k.kernel.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<ReduceOpInterface>(op);
    if (!reduce) {
      if (isa<graph::ContractOpInterface, graph::CumulateOpInterface>(op))
        return Verdict::no("its kernel has a contraction or running sums too");
      continue;
    }
    Dims space = graph::getDims(op.getOperand(0));
    if (rows.passes.empty()) {
      rows.space = space;
      rows.reduced = reduce.getReducedDims();
      rows.order = memoryOrder(op.getOperand(0));
    }
    rows.passes.resize(std::max<size_t>(rows.passes.size(), pass[op.getResult(0)]));
    rows.passes[pass[op.getResult(0)] - 1].push_back(reduce);
  }
  if (rows.passes.empty())
    return Verdict::no("nothing in its kernel is reduced");
  auto elsewhere = [] { return Verdict::no("a result of its kernel reads it at other elements than its row's"); };
  std::optional<graph::SpaceMap> map = spaceMap(k.kernel);
  if (!map)
    return elsewhere();
  Dims kept;
  for (auto [d, dim] : llvm::enumerate(rows.space))
    if (!llvm::is_contained(rows.reduced, int64_t(d)))
      kept.push_back(dim);
  bool writesRows = false;
  DimExpr keptElements = graph::numElements(kept);
  for (Value result : k.results) {
    std::optional<graph::SpaceMap::Place> place = map->placeOf(result);
    if (!place)
      return elsewhere();
    writesRows |= place->wholeSpace;
    rows.places.push_back(std::move(*place));
  }
  rows.joined = joinedDims(k, rows);
  // A small window per element, as pooling has, is straight code in a nest over the result.
  DimExpr width(1);
  for (int64_t d : rows.reduced)
    width = width * rows.space[d];
  if (!writesRows && rows.passes.size() == 1 && width.constant() && *width.constant() <= 64 &&
      keptElements.constant().value_or(1024) >= 64 && !walksShortRows(k, rows, *width.constant()))
    return Verdict::no("a short window of each element is straight code in a nest over the result");
  return rows;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Emit
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

class RowEmitter {
public:
  RowEmitter(KernelFunction &k, OpBuilder &b, const RowProgram &rows)
      : k(k), b(b), rows(rows), e(b, k.loc(), vectorLanes(k.kernel), k.symbols, k.inputs), at(rows.space.size()) {}

  void run() {
    // Lanes run along the innermost dim in memory. If that is reduced, a row's partial results meet in the end
    // (horizontal); if not, each lane is a row of its own (vertical).
    for (int64_t d : rows.order)
      if (!rows.space[d].is(1))
        lane = d;
    if (lane < 0)
      lane = rows.order.empty() ? -1 : rows.order.back();
    horizontal = llvm::is_contained(rows.reduced, lane);
    laneExtent = lane < 0 ? DimExpr(1) : rows.space[lane];
    for (int64_t d : ArrayRef(rows.joined).drop_back(rows.joined.empty() ? 0 : 1)) {
      laneExtent = laneExtent * rows.space[d];
      at[d] = e.constant(0);
    }
    Dims outer;
    SmallVector<int64_t> outerDims;
    for (int64_t d : rows.order) {
      if (d == lane || llvm::is_contained(rows.joined, d))
        continue;
      if (llvm::is_contained(rows.reduced, d)) {
        innerDims.push_back(d);
      } else {
        outerDims.push_back(d);
        outer.push_back(rows.space[d]);
      }
    }
    spilled = spillable();
    // A pass loads, combines and perhaps calls a function.
    DimExpr work = vectorWork(graph::numElements(rows.space), e.lanes, 8 * int64_t(rows.passes.size() + 1));
    overTasks(k, e, outer, work, [&](ArrayRef<Index> indices) {
      for (auto [d, index] : llvm::zip(outerDims, indices))
        at[d] = index;
      if (horizontal)
        row();
      else
        neighbouringRows();
    });
  }

private:
  KernelFunction &k;
  OpBuilder &b;
  const RowProgram &rows;
  KernelElements e;
  SmallVector<Index> at;
  int64_t lane = -1;
  /// Steps along the lanes' dim: all joined ones', where they are.
  DimExpr laneExtent = DimExpr(1);
  bool horizontal = false;
  SmallVector<int64_t> innerDims; // reduced dims other than the lanes'
  /// A value kept in a row of `room` from pass `pass` on.
  struct Spill {
    Value value;
    unsigned pass;
    Buffer room;
  };
  std::optional<Spill> spilled;
  /// Where each lane is a row: the indices along the lanes' dim of the vectors that are walked together, and of each of them the reductions'
  /// results so far.
  SmallVector<Index> vectorsOfRows;
  SmallVector<SmallVector<std::pair<Value, Value>>> finished;

  Location loc() { return k.loc(); }

  /// Where each lane is a row: several vectors of rows at a time, so that whole cache lines are read of what lies apart, and merges of
  /// unlike rows hide each other's latency; not for code that is long.
  void neighbouringRows() {
    constexpr int64_t mostOps = 64;
    plan::TargetAttr target = plan::targetOf(k.kernel);
    int64_t ops = llvm::range_size(k.kernel.getBody().front());
    int64_t most = std::min<int64_t>(mostOps / ops, target ? target.getVectorRegisters() / 2 : 4);
    vectorsLoop(e, laneExtent, most, [&](ArrayRef<Index> vectors) {
      vectorsOfRows.assign(vectors.begin(), vectors.end());
      row();
    });
  }

  /// `body` at each vector of rows, where what is finished of it is known.
  void overVectors(llvm::function_ref<void(size_t)> body) {
    if (horizontal)
      return body(0);
    for (auto [v, index] : llvm::enumerate(vectorsOfRows)) {
      at[lane] = index;
      if (vectorsOfRows.size() > 1)
        for (auto [value, element] : finished[v])
          e.bind(value, element);
      body(v);
    }
  }

  /// All passes for the row (or vectors of rows) at `at`.
  void row() {
    finished.assign(std::max<size_t>(vectorsOfRows.size(), 1), {});
    if (spilled)
      e.unbindBuffer(spilled->value);
    for (auto [number, reductions] : llvm::enumerate(rows.passes)) {
      bool spillsHere = spilled && spilled->pass == number;
      pass(reductions, spillsHere ? &*spilled : nullptr);
      if (spillsHere)
        e.bindBuffer(spilled->value, spilled->room);
    }
    overVectors([&](size_t) { writeRowResults(k, e, rows, at); });
    SmallVector<unsigned> along = resultsAlongRow(rows);
    if (!along.empty())
      overRow([&] { overVectors([&](size_t) { writeElements(k, e, along, at); }); });
    unbindFinished(e, rows);
  }

  /// The extents of the loops over a row. The outermost has no steps where the row has no elements: beside a dim of 0 another may be
  /// any number, which nobody could count to.
  Dims innerExtents() {
    Dims extents = llvm::map_to_vector<4>(innerDims, [&](int64_t d) { return rows.space[d]; });
    if (extents.empty())
      return extents;
    Dims inside(llvm::drop_begin(extents));
    if (horizontal)
      inside.push_back(laneExtent);
    if (DimExpr count = graph::numElements(inside); !count.constant())
      extents[0] = DimExpr::min(extents[0], extents[0] * count);
    return extents;
  }

  /// `body` at every index of the row; lanes (and the tail's mask) along the lane dim where it is reduced.
  void overRow(llvm::function_ref<void()> body) {
    e.loopNest(innerExtents(), {}, 1, [&](ArrayRef<Index> indices, ValueRange) -> SmallVector<Value> {
      for (auto [d, index] : llvm::zip(innerDims, indices))
        at[d] = index;
      if (horizontal)
        vectorLoop(e, laneExtent, [&](Index inner) {
          at[lane] = inner;
          body();
        });
      else
        body();
      return {};
    });
  }

  /// `states` merged with the elements at `at`; lanes outside of `mask` keep their state.
  SmallVector<Value> step(ArrayRef<ReduceOpInterface> reductions, ValueRange states, Value mask, const Spill *spill) {
    SmallVector<Value> next = appendElement(e, rows, reductions, states, at);
    if (mask)
      for (auto [merged, current] : llvm::zip(next, states))
        merged = arith::SelectOp::create(b, loc(), mask, merged, current);
    if (spill)
      e.write(spill->room, at, e.read(spill->value, at));
    return next;
  }

  /// One loop along the lane dim in steps of `unroll` vectors, each with states of its own; returns the states and
  /// where it ended.
  SmallVector<Value> laneLoop(ArrayRef<ReduceOpInterface> reductions, SmallVector<Value> states, DimExpr from,
                              DimExpr to, int64_t unroll, const Spill *spill) {
    if (from == to)
      return states;
    size_t each = states.size() / unroll;
    // A few vectors one after the other, in whose states trees are seen.
    constexpr int64_t few = 4;
    if (std::optional<int64_t> first = from.constant(), end = to.constant();
        first && end && unroll == 1 && *end - *first <= few * e.lanes) {
      for (int64_t position = *first; position < *end; position += e.lanes) {
        at[lane] = {e.constant(position).base, 1};
        e.forget();
        states = step(reductions, states, {}, spill);
      }
      e.forget();
      return states;
    }
    auto loop = scf::ForOp::create(b, loc(), e.expression(from).base, e.expression(to).base,
                                   e.constant(unroll * e.lanes).base, states);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> next;
    for (int64_t u = 0; u < unroll; ++u) {
      at[lane] = e.add({loop.getInductionVar(), 1}, e.constant(u * e.lanes));
      e.forget();
      llvm::append_range(next, step(reductions, loop.getRegionIterArgs().slice(u * each, each), {}, spill));
    }
    scf::YieldOp::create(b, loc(), next);
    e.forget();
    return llvm::to_vector(llvm::map_range(loop.getResults(), [](OpResult r) { return Value(r); }));
  }

  /// The states of the whole row along the lane dim.
  SmallVector<Value> sweep(ArrayRef<ReduceOpInterface> reductions, ValueRange initial, const Spill *spill) {
    const DimExpr extent = laneExtent;
    // Four chains hide the latency of the merge; short rows are not worth them.
    int64_t unroll = extent.constant().value_or(1 << 20) >= 8 * e.lanes ? 4 : 1;
    DimExpr wide = extent.floorDiv(unroll * e.lanes) * DimExpr(unroll * e.lanes);
    DimExpr whole = extent.floorDiv(e.lanes) * DimExpr(e.lanes);
    SmallVector<Value> states(initial);
    if (unroll > 1) {
      SmallVector<Value> many(states);
      for (int64_t u = 1; u < unroll; ++u)
        llvm::append_range(many, rowIdentities(e, reductions));
      many = laneLoop(reductions, many, DimExpr(0), wide, unroll, spill);
      size_t each = states.size();
      for (size_t i = 0; i < each; ++i)
        states[i] = many[i];
      for (int64_t u = 1; u < unroll; ++u)
        states = mergeStates(e, reductions, states, ValueRange(many).slice(u * each, each));
      states = laneLoop(reductions, states, wide, whole, 1, spill);
    } else {
      states = laneLoop(reductions, states, DimExpr(0), whole, 1, spill);
    }
    if (extent == whole)
      return states;
    auto tail = [&](Value base, ValueRange current) {
      Value count = e.sub(e.expression(extent), {base}).base;
      Value mask = vector::CreateMaskOp::create(b, loc(), VectorType::get({e.lanes}, b.getI1Type()), count);
      e.setMask(mask);
      at[lane] = {base, 1};
      SmallVector<Value> next = step(reductions, current, mask, spill);
      e.setMask({});
      return next;
    };
    if (extent.constant())
      return tail(e.expression(whole).base, states);
    auto loop = scf::ForOp::create(b, loc(), e.expression(whole).base, e.expression(extent).base,
                                   e.constant(e.lanes).base, states);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      scf::YieldOp::create(b, loc(), tail(loop.getInductionVar(), loop.getRegionIterArgs()));
    }
    e.forget();
    return llvm::to_vector(llvm::map_range(loop.getResults(), [](OpResult r) { return Value(r); }));
  }

  /// Lanes of the states halved until one is left.
  SmallVector<Value> acrossLanes(ArrayRef<ReduceOpInterface> reductions, SmallVector<Value> states) {
    for (int64_t width = e.lanes; width > 1; width /= 2) {
      SmallVector<Value> low, high;
      SmallVector<int64_t> lowLanes = llvm::to_vector(llvm::seq<int64_t>(0, width / 2));
      SmallVector<int64_t> highLanes = llvm::to_vector(llvm::seq<int64_t>(width / 2, width));
      for (Value v : states) {
        low.push_back(vector::ShuffleOp::create(b, loc(), v, v, lowLanes));
        high.push_back(vector::ShuffleOp::create(b, loc(), v, v, highLanes));
      }
      states = mergeStates(e, reductions, low, high);
    }
    for (Value &v : states)
      v = vector::ExtractOp::create(b, loc(), v, ArrayRef<int64_t>{0});
    return states;
  }

  void pass(ArrayRef<ReduceOpInterface> reductions, const Spill *spill) {
    Index savedLane = at[lane];
    SmallVector<Value> one = rowIdentities(e, reductions), all;
    for (size_t v = 0; v < finished.size(); ++v)
      llvm::append_range(all, one);
    SmallVector<Value> states =
        e.loopNest(innerExtents(), all, 1, [&](ArrayRef<Index> indices, ValueRange carried) -> SmallVector<Value> {
          for (auto [d, index] : llvm::zip(innerDims, indices))
            at[d] = index;
          if (horizontal)
            return sweep(reductions, carried, spill);
          SmallVector<Value> next;
          overVectors([&](size_t v) {
            llvm::append_range(next, step(reductions, carried.slice(v * one.size(), one.size()), {}, spill));
          });
          return next;
        });
    at[lane] = savedLane;
    if (horizontal)
      return bindFinished(e, rows, reductions, acrossLanes(reductions, states));
    overVectors([&](size_t v) {
      bindFinished(e, rows, reductions, ArrayRef(states).slice(v * one.size(), one.size()));
      for (ReduceOpInterface reduce : reductions)
        finished[v].push_back({reduce->getResult(0), e.read(reduce->getResult(0), at)});
    });
  }

  /// Whether `to` is computed from `from`, other than through `through`.
  static bool reaches(Value from, Value to, Value through = {}) {
    SmallVector<Value> work = {to};
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (v == through)
        continue;
      if (v == from)
        return true;
      if (seen.insert(v).second && v.getDefiningOp())
        llvm::append_range(work, v.getDefiningOp()->getOperands());
    }
    return false;
  }

  /// The only result with a row's extent; several may need each other's rows.
  std::optional<unsigned> rowResult() {
    std::optional<unsigned> found;
    for (auto [r, place] : llvm::enumerate(rows.places))
      if (place.wholeSpace) {
        if (found) {
          LDBG() << k.kernel.getName() << " keeps no rows: several results have their extent";
          return std::nullopt;
        }
        found = r;
      }
    return found;
  }

  /// Memory that can hold `value` from pass `number` on: a result's row that is written last, or that of an operand which nobody
  /// reads anymore.
  std::optional<Buffer> roomFor(Value value, unsigned number) {
    Type type = graph::getElementType(value);
    if (graph::computeType(type) != storageType(type))
      return std::nullopt;
    std::optional<unsigned> row = rowResult();
    if (row && k.outputs[*row].elementType == type)
      return k.outputs[*row];
    for (auto &[input, buffer] : k.inputs) {
      bool fits = k.consumed.contains(input) && graph::getDims(input) == rows.space && buffer.elementType == type;
      auto reads = [&](Value later) { return reaches(input, later, value); };
      if (!fits || llvm::any_of(k.results, reads))
        continue;
      bool free = true;
      for (size_t later = number + 1; later < rows.passes.size(); ++later)
        for (ReduceOpInterface reduce : rows.passes[later])
          free &= !reads(reduce->getOperand(0));
      if (free)
        return buffer;
    }
    return std::nullopt;
  }

  /// Whether all results have their places where `value` is held as well.
  bool hasPlaces(Value value) {
    std::optional<graph::SpaceMap> map = spaceMap(k.kernel, value);
    return map && llvm::all_of(k.results, [&](Value result) { return map->placeOf(result).has_value(); });
  }

  /// A value with a row's extent that is expensive, computed for some pass and needed after it, where there is room for it.
  std::optional<Spill> spillable() {
    std::optional<unsigned> row = rowResult();
    if (!row)
      return std::nullopt;
    Value result = k.results[*row];
    llvm::DenseMap<Value, unsigned> passes = passOf(k.kernel);
    for (Operation &op : k.kernel.getBody().front().without_terminator()) {
      if (op.getNumResults() != 1 || !graph::isTranscendental(op))
        continue;
      Value v = op.getResult(0);
      unsigned number = passes[v];
      if (v == result || graph::getDims(v) != rows.space || number >= rows.passes.size())
        continue;
      bool here = llvm::any_of(rows.passes[number], [&](ReduceOpInterface r) { return reaches(v, r->getOperand(0)); });
      // It is there for the row at hand alone.
      std::optional<Buffer> room = here && reaches(v, result) && hasPlaces(v) ? roomFor(v, number) : std::nullopt;
      if (room)
        return Spill{v, number, *room};
    }
    return std::nullopt;
  }
};

} // namespace

void emitRows(KernelFunction &k, OpBuilder &b, const RowProgram &rows) { RowEmitter(k, b, rows).run(); }

} // namespace hewn::codegen
