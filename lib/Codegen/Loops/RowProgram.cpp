// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Loops/RowProgram.h"
#include "dialects/Graph/Analysis/Cost.h"
#include "lib/Codegen/Loops/LoopEngine.h"
#include "lib/Codegen/Loops/RowElements.h"
#include "lib/Codegen/Tasks.h"
#include "lib/Schedule/ScheduleModel.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-assign-schedules"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

//===------------------------------------------------------------------------------------------------------------------===//
// Plan
//===------------------------------------------------------------------------------------------------------------------===//

/// Returns, for each value of the kernel, the first pass that can use it: the pass after that of
/// the latest reduction that the value depends on.
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

/// Returns true if the dims `outer` and `inner` of the space can be collapsed in the buffer: they
/// are contiguous, or the buffer is broadcast along both. A dynamic dim that differs from that of
/// the space may be 1 at run time, so it is not collapsed. The buffer's dims correspond to the last
/// dims of the space.
static bool joins(const Buffer &buffer, const Dims &space, int64_t outer, int64_t inner) {
  int64_t ahead = int64_t(space.size()) - int64_t(buffer.dims.size());
  auto isThere = [&](int64_t d) { return d >= ahead && !buffer.dims[d - ahead].is(1); };
  auto strideOf = [&](int64_t d) { return isThere(d) ? buffer.strides[d - ahead] : DimExpr(0); };
  auto isWhole = [&](int64_t d) { return !isThere(d) || buffer.dims[d - ahead] == space[d]; };
  return ahead >= 0 && buffer.blockDim < 0 && isWhole(outer) && isWhole(inner) &&
         strideOf(outer) == strideOf(inner) * space[inner];
}

static bool isIndexing(Operation &op) { return isa<graph::IndexingOpInterface>(op); }

/// Returns the reduced dims that can be iterated as one long dim, for RowProgram::joined.
static SmallVector<int64_t> joinedDims(KernelContext &k, const RowProgram &rows) {
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

/// Returns true if passes over short rows of `width` elements are faster than code that is unrolled
/// for each element: a row is one contiguous run of at least a vector; or the rows' dims are not
/// innermost, and there are enough adjacent rows to fill vectors. Returns false if rows are windows
/// of another value.
static bool isFasterByRows(KernelContext &k, const RowProgram &rows, int64_t width) {
  constexpr int64_t fewTrips = 8;
  SmallVector<int64_t> order = rows.order;
  llvm::erase_if(order, [&](int64_t d) { return rows.space[d].is(1); });
  int64_t lanes = vectorLanes(k.kernel);
  bool reducesLast = !order.empty() && llvm::is_contained(rows.reduced, order.back());
  size_t dims = llvm::count_if(order, [&](int64_t d) { return llvm::is_contained(rows.reduced, d); });
  bool oneRun = reducesLast && width >= lanes && (dims == 1 || rows.joined.size() == dims);
  bool manyBeside = !order.empty() && !reducesLast && width >= fewTrips &&
                    rows.space[order.back()].constant().value_or(0) >= 2 * lanes;
  return (oneRun || manyBeside) && plan::supports(k.kernel, plan::KernelFeature::InnermostVectors) &&
         llvm::none_of(k.kernel.getBody().front().without_terminator(), isIndexing);
}

OrReason<RowProgram> planRows(KernelContext &k) {
  RowProgram rows;
  llvm::DenseMap<Value, unsigned> pass = passOf(k.kernel);
  for (Operation &op : k.kernel.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<ReduceOpInterface>(op);
    if (!reduce) {
      if (isa<graph::ContractOpInterface, graph::PrefixScanOpInterface>(op))
        return Eligibility::no("the kernel also has a contraction or a prefix scan");
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
    return Eligibility::no("the kernel has no reduction");
  auto elsewhere = [] { return Eligibility::no("a result of the kernel reads the reduction of another row"); };
  const std::optional<graph::SpaceMap> &map = k.analysis->space;
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
  // If each result element reduces a small window, as in pooling, no passes over rows are planned:
  // the window is unrolled in a nest over the result instead.
  DimExpr width(1);
  for (int64_t d : rows.reduced)
    width = width * rows.space[d];
  if (!writesRows && rows.passes.size() == 1 && width.constant() && *width.constant() <= 64 &&
      keptElements.constant().value_or(1024) >= 64 && !isFasterByRows(k, rows, *width.constant()))
    return Eligibility::no("a short window per element is unrolled in a nest over the result");
  return rows;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Emission
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

class RowEmitter {
public:
  RowEmitter(KernelContext &k, OpBuilder &b, const RowProgram &rows)
      : k(k), b(b), rows(rows), e(b, k.loc(), vectorLanes(k.kernel), k.symbols, k.inputs), at(rows.space.size()) {}

  void run() {
    // Vectorize the innermost dim in memory. If this dim is reduced, the lanes' partial results are
    // combined at the end of a row (horizontal reduction). Otherwise, each lane has a row of its
    // own (vertical reduction).
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
    // Estimate the work of a pass: per element, it has a load, a merge and perhaps a call of a math
    // function.
    DimExpr work = vectorWork(graph::numElements(rows.space), e.lanes, 8 * int64_t(rows.passes.size() + 1));
    overTasks(k, e, outer, work, [&](ArrayRef<Index> indices) {
      for (auto [d, index] : llvm::zip(outerDims, indices))
        at[d] = index;
      if (horizontal)
        row();
      else
        verticalRows();
    });
  }

private:
  KernelContext &k;
  OpBuilder &b;
  const RowProgram &rows;
  ElementEmitter e;
  SmallVector<Index> at;
  int64_t lane = -1;
  /// Extent of the loop along the vectorized dim, including the dims that are collapsed with it.
  DimExpr laneExtent = DimExpr(1);
  bool horizontal = false;
  SmallVector<int64_t> innerDims; // reduced dims other than the vectorized one
  /// A value that pass `pass` stores to a row of the buffer `room`, from which later passes load
  /// it.
  struct Spill {
    Value value;
    unsigned pass;
    Buffer room;
  };
  std::optional<Spill> spilled;
  /// For vertical reduction: the indices of the vectors of rows that are processed together, and
  /// for each vector the results of the reductions of finished passes.
  SmallVector<Index> vectorsOfRows;
  SmallVector<SmallVector<std::pair<Value, Value>>> finished;

  Location loc() { return k.loc(); }

  /// Emits vertical reductions, for several vectors of rows at a time: this reads all of the cache
  /// lines of strided rows, and independent merges hide each other's latency. Long code is emitted
  /// for one vector at a time.
  void verticalRows() {
    constexpr int64_t mostOps = 64;
    plan::TargetAttr target = plan::targetOf(k.kernel);
    int64_t ops = llvm::range_size(k.kernel.getBody().front());
    int64_t most = std::min<int64_t>(mostOps / ops, target ? target.getVectorRegisters() / 2 : 4);
    vectorsLoop(e, laneExtent, most, [&](ArrayRef<Index> vectors) {
      vectorsOfRows.assign(vectors.begin(), vectors.end());
      row();
    });
  }

  /// Calls `body` for each vector of rows, with the results of its finished reductions bound.
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

  /// Emits all passes for the row (or vectors of rows) at `at`.
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

  /// Returns the trip counts of the loops over a row, without the vectorized dim. If an inner dim
  /// may be 0, the trip count of the outermost loop is 0 as well in that case, because it might
  /// otherwise be an arbitrarily large number.
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

  /// Emits loops that run `body` at every index of the row. For horizontal reduction, `body` runs
  /// at vector indices along the vectorized dim, with a mask for the tail.
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

  /// Returns `states` merged with the elements at `at`. Lanes outside of `mask` keep their state.
  /// If `spill` is given, also stores its value to memory for later passes.
  SmallVector<Value> step(ArrayRef<ReduceOpInterface> reductions, ValueRange states, Value mask, const Spill *spill) {
    SmallVector<Value> next = appendElement(e, rows, reductions, states, at);
    if (mask)
      for (auto [merged, current] : llvm::zip(next, states))
        merged = arith::SelectOp::create(b, loc(), mask, merged, current);
    if (spill)
      e.write(spill->room, at, e.read(spill->value, at));
    return next;
  }

  /// Emits a loop over [from, to) along the vectorized dim and returns the states. An iteration
  /// processes `unroll` vectors, each of which has its own states.
  SmallVector<Value> laneLoop(ArrayRef<ReduceOpInterface> reductions, SmallVector<Value> states, DimExpr from,
                              DimExpr to, int64_t unroll, const Spill *spill) {
    if (from == to)
      return states;
    size_t each = states.size() / unroll;
    // Unroll the loop over a few vectors, so that later passes of the compiler can balance the
    // merges as trees.
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
    auto block = [&](Index first, Index end, ValueRange carried) {
      auto loop = scf::ForOp::create(b, loc(), first.base, end.base, e.constant(unroll * e.lanes).base, carried);
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
      return SmallVector<Value>(loop.getResults());
    };
    Index first = e.expression(from), end = e.expression(to);
    // Fewer than four vectors remain after the unrolled loop.
    if (!from.is(0))
      return block(first, end, states);
    std::optional<int64_t> extent = to.constant();
    int64_t stride = unroll * e.lanes;
    return blockedSum(e, reductions, unroll)
        .range(first, end, stride, extent ? std::optional(*extent / stride) : std::nullopt, 1, states, block);
  }

  /// Emits the reduction of a full row along the vectorized dim and returns the states.
  SmallVector<Value> sweep(ArrayRef<ReduceOpInterface> reductions, ValueRange initial, const Spill *spill) {
    const DimExpr extent = laneExtent;
    // Use four independent states for long rows, which hide the latency of a merge, and one for
    // short rows.
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

  /// Merges the states of all lanes by repeatedly merging the two halves of a vector. Returns
  /// scalars.
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
    // A row along the vectorized dim adds one block of vectors to a state, at most.
    int64_t additions = 1;
    if (horizontal)
      additions = std::min(laneExtent.ceilDiv(e.lanes).constant().value_or(kSumBlock), kSumBlock);
    SmallVector<Value> states =
        blockedSum(e, reductions, finished.size())
            .nest(innerExtents(), additions, 1, all, [&](ArrayRef<Index> indices, ValueRange carried) {
              for (auto [d, index] : llvm::zip(innerDims, indices))
                at[d] = index;
              if (horizontal)
                return sweep(reductions, SmallVector<Value>(carried), spill);
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

  /// Returns true if `to` depends on `from` in another way than through the value `through`.
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

  /// Returns the index of the result that has an element for each element of a row. Returns nullopt
  /// if there are several: each of them may depend on rows that another one overwrites.
  std::optional<unsigned> rowResult() {
    std::optional<unsigned> found;
    for (auto [r, place] : llvm::enumerate(rows.places))
      if (place.wholeSpace) {
        if (found) {
          LDBG() << k.kernel.getName() << " stores no row: several results have the extent of a row";
          return std::nullopt;
        }
        found = r;
      }
    return found;
  }

  /// Returns a buffer whose row can hold `value` from pass `number` on: that of a result, which is
  /// written last, or that of an operand without later uses.
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

  /// Returns true if all results still have an index in the space (KernelContext.h, spaceMap) when
  /// `value` is loaded from memory.
  bool hasBuffers(Value value) {
    std::optional<graph::SpaceMap> map = spaceMap(k.analysis->ops, value);
    return map && llvm::all_of(k.results, [&](Value result) { return map->placeOf(result).has_value(); });
  }

  /// Returns an expensive value (an exponential) that one pass computes and a later pass needs, if
  /// there is memory for its row.
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
      // The spilled value can only be loaded within its row: the memory is reused for the next row.
      std::optional<Buffer> room = here && reaches(v, result) && hasBuffers(v) ? roomFor(v, number) : std::nullopt;
      if (room)
        return Spill{v, number, *room};
    }
    return std::nullopt;
  }
};

} // namespace

void emitRows(KernelContext &k, OpBuilder &b, const RowProgram &rows) { RowEmitter(k, b, rows).run(); }

} // namespace hewn::codegen
