// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Chain/GridChain.h"
#include "lib/Codegen/Grid/GridEngine.h"
#include "lib/Codegen/Grid/Loops/GridWide.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Chain;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

static int64_t depthOf(const Chain &chain) { return *ChainProduct(chain.first).depth().constant(); }
static int64_t widthOf(const Chain &chain) { return *graph::getDims(chain.second->getResult(0)).back().constant(); }

GridChain::GridChain(KernelFunction &k, OpBuilder &b, const Chain &chain, plan::GridChainAttr schedule,
                     const std::optional<Buffer> &memory)
    : k(k), b(b), chain(chain), spread(plan::spreadOf(schedule)), depth(depthOf(chain)), width(widthOf(chain)),
      e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs),
      grid(k, e, spread.high * spread.wide * plan::gridOf(k.kernel).getWarpSize()), factors(schedule.getFactors()),
      products(b, k.loc(), grid, plan::gridOf(k.kernel).getMmasPerProduct() > 1 && factors.isF32()),
      parts(k, e, grid, chain, schedule, memory), first(chain.first), second(chain.second),
      space(graph::getDims(chain.first->getResult(0))),
      queries(k, e, grid, first, GridLines::Line::Row, space[chain.rowDim], depth, spread.rows(), factors),
      keys(k, e, grid, first, GridLines::Line::Column, space.back(), depth, tile(), factors),
      values(k, e, grid, second, GridLines::Line::Summed, space.back(), width, tile(), factors) {}

void GridChain::run() {
  // Sums, scores as they are made and as factors, and beside them fragments, addresses, and what is on its way.
  constexpr int64_t others = 96;
  int64_t scores = spread.columns / kFragment * 4 * spread.rowTiles;
  int64_t registers = int64_t(numSums()) + (products.makesTwo() ? 6 : 2) * scores + others;
  // Narrow factors of short lines wait less where a third block of as many warps runs beside two.
  constexpr int64_t blocks = 3;
  plan::GridLimitsAttr limits = plan::gridOf(k.kernel).getLimits();
  auto ofBlocks = int64_t(llvm::alignDown(uint64_t(limits.getRegisters() / (blocks * grid.threads)),
                                          uint64_t(limits.getRegisterGranularity())));
  if (keepsQueries() && width <= plan::kShortLine && spread.rowTiles == 1 && registers > ofBlocks)
    grid.limitRegisters(ofBlocks);
  else
    grid.wantRegisters(registers);
  Index four = e.constant(4), thread{grid.thread};
  Index warp = e.floorDiv(thread, e.constant(grid.warp)), lane = e.mod(thread, e.constant(grid.warp));
  group = e.floorDiv(lane, four);
  inGroup = e.mod(lane, four);
  warpHigh = e.mod(warp, e.constant(spread.high));
  warpWide = e.floorDiv(warp, e.constant(spread.high));
  warpColumn = e.mul(warpWide, e.constant(spread.columns));
  DimExpr rows = space[chain.rowDim];
  Dims counts(ArrayRef(space).take_front(chain.rowDim));
  counts.push_back(rows.ceilDiv(spread.rows()));
  const DimExpr &several = parts.count();
  grid.overBlocks(graph::numElements(counts) * several, [&](Index number) {
    item = several.is(1) ? number : e.floorDiv(number, e.expression(several));
    part = several.is(1) ? e.constant(0) : e.mod(number, e.expression(several));
    SmallVector<Index> at = e.unravel(item, counts);
    batch.assign(at.begin(), at.end() - 1);
    Index firstRow = e.mul(at.back(), e.constant(spread.rows()));
    Index start = e.add(firstRow, e.add(e.mul(warpHigh, e.constant(spread.warpRows())), group));
    Index last = e.sub(e.expression(rows), e.constant(1));
    row.clear();
    exists.clear();
    for (int64_t i = 0; i < int64_t(numRows()); ++i) {
      Index own = e.add(start, e.constant(i * 8));
      exists.push_back(e.compare(arith::CmpIPredicate::sle, own, last));
      row.push_back(e.min(own, last)); // those beyond the end do the last one's work once more
    }
    queries.put(queries.bring(batch, firstRow));
    hasAll = nullptr;
    finish(sumsOfRows());
  });
}

/// This warp's scores of a tile that is in shared memory: four for each eight columns.
SmallVector<Value> GridChain::scores() {
  if (!factors.isF32())
    return narrowScores();
  int64_t count = spread.columns / kFragment;
  SmallVector<GridFactors::Sum> sums(count, products.begin(SmallVector<Value>(4, number(0))));
  Index row = e.add(e.mul(warpHigh, e.constant(spread.warpRows())), group), four = e.constant(4), eight = e.constant(8);
  for (int64_t step = 0; step < depth; step += kFragment) {
    Index inSum = e.add(inGroup, e.constant(step)), next = e.add(inSum, four), below = e.add(row, eight);
    GridFactors::Fragment left = products.fragment(
        {queries.at(row, inSum), queries.at(below, inSum), queries.at(row, next), queries.at(below, next)},
        queries.isWhole());
    for (int64_t i = 0; i < count; ++i) {
      Index line = e.add(warpColumn, e.add(group, e.constant(i * kFragment)));
      products.multiply(sums[i], left, products.fragment({keys.at(line, inSum), keys.at(line, next)}, keys.isWhole()));
    }
  }
  SmallVector<Value> all;
  for (const GridFactors::Sum &sum : sums)
    llvm::append_range(all, products.finish(sum));
  return all;
}

SmallVector<Value> GridChain::addValues(ArrayRef<Value> sums, ArrayRef<Value> weights) {
  if (!factors.isF32())
    return addNarrowValues(sums, weights);
  SmallVector<GridFactors::Fragment> lefts;
  for (size_t i = 0; i < weights.size(); i += 4)
    lefts.push_back(products.fragment({weights[i], weights[i + 2], weights[i + 1], weights[i + 3]}));
  SmallVector<Value> all;
  for (size_t c = 0; c < sums.size(); c += 4) {
    SmallVector<Value> four(sums.slice(c, 4));
    // Of this tile alone: GridFactors.h says why.
    GridFactors::Sum sum = products.begin(products.makesTwo() ? SmallVector<Value>(4, number(0)) : four);
    Index inner = e.add(group, e.constant(int64_t(c) / 4 * kFragment));
    for (auto [i, factor] : llvm::enumerate(lefts)) {
      Index line = e.add(warpColumn, e.add(e.mul(inGroup, e.constant(2)), e.constant(int64_t(i) * kFragment)));
      products.multiply(
          sum, factor,
          products.fragment({values.at(line, inner), values.at(e.add(line, e.constant(1)), inner)}, values.isWhole()));
    }
    SmallVector<Value> made = products.finish(sum);
    if (products.makesTwo()) {
      products.add(four, made);
      made = four;
    }
    llvm::append_range(all, made);
  }
  return all;
}

SmallVector<Value> GridChain::overTiles(ArrayRef<Value> start, bool adds, Step step) {
  e.forget();
  Index begin = e.constant(0), end = e.expression(space.back());
  if (!parts.count().is(1)) { // whole tiles
    Index each = e.expression(space.back().ceilDiv(tile()).ceilDiv(parts.count()) * DimExpr(tile()));
    begin = e.mul(part, each);
    end = e.min(end, e.add(begin, each));
  }
  keys.put(keys.bring(batch, begin));
  keepQueries();
  auto loop = scf::ForOp::create(b, loc(), begin.base, end.base, e.constant(tile()).base, start);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    e.forget();
    Index column{loop.getInductionVar()};
    grid.waitForCopies(0);
    grid.barrier(); // all have k's lines, and are done with the last tile's of v
    SmallVector<Value> nextValues = adds ? values.bring(batch, column) : SmallVector<Value>();
    SmallVector<Value> made = scores();
    values.put(nextValues);
    grid.waitForCopies(0);
    grid.barrier(); // all have v's, and are done with k's
    SmallVector<Value> nextKeys = keys.bring(batch, e.add(column, e.constant(tile())));
    SmallVector<Value> next = step(loop.getRegionIterArgs(), made, e.add(column, warpColumn));
    keys.put(nextKeys);
    scf::YieldOp::create(b, loc(), next);
  }
  e.forget();
  grid.waitForCopies(0);
  grid.barrier();
  return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
}

Index GridChain::columnOf(size_t i, Index firstColumn) {
  Index own = e.add(e.mul(inGroup, e.constant(2)), e.constant(ownColumn(i)));
  return e.add(firstColumn, own);
}
bool GridChain::fillsTiles() const { return space.back().constant().value_or(1) % tile() == 0; }
Value GridChain::hasColumn(size_t i, Index firstColumn) {
  if (fillsTiles())
    return nullptr;
  // In 32 bits, which a tile's numbers have: one comparison with a number known now for each column.
  auto narrow = [&](Index index) -> Value { return arith::IndexCastOp::create(b, loc(), b.getI32Type(), index.base); };
  Value rest = narrow(e.min(e.sub(e.expression(space.back()), firstColumn), e.constant(tile())));
  Value own = arith::SubIOp::create(b, loc(), rest, narrow(e.mul(inGroup, e.constant(2))));
  Value known = arith::ConstantOp::create(b, loc(), b.getI32IntegerAttr(int32_t(ownColumn(i))));
  return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::sgt, own, known);
}
SmallVector<Index> GridChain::placeOf(size_t i, Index column) {
  SmallVector<Index> at(batch);
  if (!fillsTiles())
    column = e.min(column, e.sub(e.expression(space.back()), e.constant(1)));
  at.append({row[rowOf(i)], column});
  return at;
}

Value GridChain::readAt(Value tensor, Value score, ArrayRef<Index> at) {
  e.bind(chain.first->getResult(0), score);
  Value value = e.read(tensor, at);
  e.unbind(chain.first->getResult(0));
  return value;
}

SmallVector<Value> GridChain::meet(ReduceOpInterface reduce, SmallVector<Value> states) {
  for (int64_t distance : {1, 2}) {
    SmallVector<Value> other = llvm::map_to_vector(states, [&](Value v) { return grid.shuffle(v, distance); });
    states = reduce.merge(b, loc(), states, other);
  }
  return states;
}

/// Whether neighbours along the last dim lie side by side in the buffer, in pairs that begin at multiples of two.
static bool hasPairs(const Buffer &buffer) {
  return vectorBytes(buffer.elementType) > 0 && isEven(buffer) && buffer.strides.back().is(1) &&
         linesBeginAt(buffer, int64_t(buffer.dims.size()) - 1, 2);
}

/// Writes `count` neighbours of the results that sums from `i` on give.
void GridChain::write(ArrayRef<Value> sums, size_t i, size_t count) {
  SmallVector<SmallVector<Value>> made(k.results.size());
  SmallVector<Index> place;
  for (size_t own = i; own < i + count; ++own) {
    SmallVector<Index> at(batch);
    at.append({row[rowOf(own)], columnOf(own, e.constant(0))});
    if (own == i)
      place = at;
    e.bind(chain.second->getResult(0), sums[own]);
    for (auto [list, result] : llvm::zip(made, k.results))
      list.push_back(e.read(result, at));
    e.unbind(chain.second->getResult(0));
  }
  for (auto [buffer, values] : llvm::zip(k.outputs, made)) {
    if (count == 1) {
      e.write(buffer, place, values[0]);
      continue;
    }
    KernelElements wide(b, loc(), int64_t(count), k.symbols, k.inputs);
    place.back().stride = 1;
    auto type = VectorType::get({int64_t(count)}, values[0].getType());
    wide.write(buffer, place, vector::FromElementsOp::create(b, loc(), type, values));
    auto store = cast<vector::StoreOp>(*std::prev(b.getInsertionPoint()));
    store.setAlignment(count * store.getVectorType().getElementTypeBitWidth() / 8);
  }
}

void GridChain::finish(ArrayRef<Value> given) {
  e.forget();
  SmallVector<Value> sums(given);
  if (!space.back().constant()) { // of nothing
    Value some = e.compare(arith::CmpIPredicate::slt, e.constant(0), e.expression(space.back()));
    for (Value &sum : sums)
      sum = e.selectElement(some, sum, number(0));
  }
  Value gives = spread.wide > 1 ? e.compare(arith::CmpIPredicate::eq, warpWide, e.constant(0)) : Value();
  auto where = [&](Value writes, llvm::function_ref<void()> body) {
    for (Value also : {gives, hasAll})
      if (also)
        writes = e.logicalAnd(writes, also);
    auto branch = scf::IfOp::create(b, loc(), writes, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    e.forget();
    body();
    e.forget();
  };
  if (width % kFragment != 0) {
    Index end = e.constant(width);
    for (size_t i = 0; i < sums.size(); ++i) {
      Value isColumn = e.compare(arith::CmpIPredicate::slt, columnOf(i, e.constant(0)), end);
      where(e.logicalAnd(exists[rowOf(i)], isColumn), [&] { write(sums, i, 1); });
    }
    return;
  }
  size_t count = llvm::all_of(k.outputs, hasPairs) ? 2 : 1;
  for (size_t r = 0; r < numRows(); ++r)
    where(exists[r], [&] {
      for (size_t i = 0; i < sums.size(); i += count)
        if (rowOf(i) == r)
          write(sums, i, count);
    });
}

Found<Chain> gridChain(KernelFunction &k) {
  SmallVector<Operation *> ops =
      llvm::map_to_vector(k.kernel.getBody().front().without_terminator(), [](Operation &op) { return &op; });
  Found<Chain> chain = graph::findChain(ops, /*narrow=*/true);
  if (!chain)
    return chain;
  if (Verdict takes = plan::gridTakesChain(*chain); !takes)
    return takes;
  bool isOfTail = llvm::all_of(k.results, [&](Value result) {
    return result.getDefiningOp<graph::ScratchOp>() || llvm::is_contained(chain->tail, result.getDefiningOp());
  });
  return isOfTail ? chain : Verdict::no("a result of its kernel is not made of the second contraction's");
}

Found<OnlineRows> onlineRows(KernelFunction &k, OpBuilder &b, const Chain &chain) {
  KernelElements tried(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  return onlineRows(tried, chain);
}

LogicalResult emitGridChain(KernelFunction &k, OpBuilder &b, plan::GridChainAttr schedule,
                            const std::optional<Buffer> &memory) {
  Found<Chain> chain = gridChain(k);
  if (!chain)
    return refuse(k, schedule) << ", and is no chain of two contractions that fits a block: " << chain.why();
  Type factors = schedule.getFactors();
  if (!factors.isF32() && factors != plan::gridChainFactors(*chain))
    return refuse(k, schedule) << ", and operands that are no such factors";
  int64_t step = (factors.isF32() ? 1 : 2) * GridChain::kFragment;
  if (schedule.getColumns() % step != 0)
    return refuse(k, schedule) << ", of which columns must be a multiple of " << step;
  if (failed(verifyScratch(k, plan::gridChainScratch(*chain, schedule), memory)))
    return failure();
  if (!schedule.getOnline()) {
    emitChainPasses(k, b, *chain, schedule);
    return success();
  }
  Found<OnlineRows> online = onlineRows(k, b, *chain);
  if (!online)
    return refuse(k, schedule) << ", and rows that take more than one pass: " << online.why();
  emitOnlineChain(k, b, *chain, schedule, memory, *online);
  return success();
}

} // namespace hewn::codegen
