// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/Attention/GpuAttention.h"
#include "lib/Codegen/GPU/Loops/GpuWide.h"
#include "lib/Schedule/ScheduleModel.h"
#include "lib/Target/NVPTX/Kernels/Kernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::FusedAttention;
using hewn::graph::Index;
using hewn::graph::ReduceOpInterface;

namespace hewn::codegen {

static int64_t depthOf(const FusedAttention &attention) { return *AttentionGemm(attention.first).depth().constant(); }
static int64_t widthOf(const FusedAttention &attention) {
  return *graph::getDims(attention.second->getResult(0)).back().constant();
}

GpuAttention::GpuAttention(KernelContext &k, OpBuilder &b, const FusedAttention &attention,
                           plan::GpuAttentionAttr schedule, const std::optional<Buffer> &memory)
    : k(k), b(b), attention(attention), spread(plan::spreadOf(schedule)), depth(depthOf(attention)),
      width(widthOf(attention)), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs),
      gpu(k, e, spread.high * spread.wide * plan::gpuOf(k.kernel).getWarpSize()), factors(schedule.getFactors()),
      products(b, k.loc(), gpu, plan::gpuOf(k.kernel).getMmasPerProduct() > 1 && factors.isF32()),
      parts(k, e, gpu, attention, schedule, memory), first(attention.first), second(attention.second),
      space(graph::getDims(attention.first->getResult(0))),
      queries(k, e, gpu, first, AttentionTile::Line::Row, space[attention.rowDim], depth, spread.rows(), factors),
      keys(k, e, gpu, first, AttentionTile::Line::Column, space.back(), depth, tile(), factors),
      values(k, e, gpu, second, AttentionTile::Line::Summed, space.back(), width, tile(), factors) {}

void GpuAttention::run() {
  // Estimate the registers that a thread of the attention kernel needs: accumulators, scores (also
  // as MMA operands), and `others` for fragments, addresses and staged elements.
  constexpr int64_t others = 96;
  int64_t scores = spread.columns / kFragment * 4 * spread.rowTiles;
  int64_t registers = int64_t(numSums()) + (products.makesTwo() ? 6 : 2) * scores + others;
  // With 16-bit operands and short rows, limit the attention kernel's registers so that a third
  // block fits a multiprocessor, which hides more latency.
  constexpr int64_t blocks = 3;
  plan::GpuLimitsAttr limits = plan::gpuOf(k.kernel).getLimits();
  auto ofBlocks = int64_t(llvm::alignDown(uint64_t(limits.getRegisters() / (blocks * gpu.threads)),
                                          uint64_t(limits.getRegisterGranularity())));
  if (keepsQueries() && width <= plan::kShortLine && spread.rowTiles == 1 && registers > ofBlocks)
    gpu.limitRegisters(ofBlocks);
  else
    gpu.wantRegisters(registers);
  Index four = e.constant(4), thread{gpu.thread};
  Index warp = e.floorDiv(thread, e.constant(gpu.warp)), lane = e.mod(thread, e.constant(gpu.warp));
  group = e.floorDiv(lane, four);
  inGroup = e.mod(lane, four);
  warpHigh = e.mod(warp, e.constant(spread.high));
  warpWide = e.floorDiv(warp, e.constant(spread.high));
  warpColumn = e.mul(warpWide, e.constant(spread.columns));
  DimExpr rows = space[attention.rowDim];
  Dims counts(ArrayRef(space).take_front(attention.rowDim));
  counts.push_back(rows.ceilDiv(spread.rows()));
  const DimExpr &several = parts.count();
  gpu.overBlocks(graph::numElements(counts) * several, [&](Index number) {
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
      row.push_back(e.min(own, last)); // rows out of range repeat the last row
    }
    queries.put(queries.bring(batch, firstRow));
    hasAll = nullptr;
    finish(sumsOfRows());
  });
}

/// Returns this warp's scores for the tile of k in shared memory. A lane has four scores of each
/// eight columns.
SmallVector<Value> GpuAttention::scores() {
  if (!factors.isF32())
    return narrowScores();
  int64_t count = spread.columns / kFragment;
  SmallVector<Tf32Split::Sum> sums(count, products.begin(SmallVector<Value>(4, number(0))));
  Index row = e.add(e.mul(warpHigh, e.constant(spread.warpRows())), group), four = e.constant(4), eight = e.constant(8);
  for (int64_t step = 0; step < depth; step += kFragment) {
    Index inSum = e.add(inGroup, e.constant(step)), next = e.add(inSum, four), below = e.add(row, eight);
    Tf32Split::Fragment left = products.fragment(
        {queries.at(row, inSum), queries.at(below, inSum), queries.at(row, next), queries.at(below, next)},
        queries.isWhole());
    for (int64_t i = 0; i < count; ++i) {
      Index line = e.add(warpColumn, e.add(group, e.constant(i * kFragment)));
      products.multiply(sums[i], left, products.fragment({keys.at(line, inSum), keys.at(line, next)}, keys.isWhole()));
    }
  }
  SmallVector<Value> all;
  for (const Tf32Split::Sum &sum : sums)
    llvm::append_range(all, products.finish(sum));
  return all;
}

SmallVector<Value> GpuAttention::addValues(ArrayRef<Value> sums, ArrayRef<Value> weights) {
  if (!factors.isF32())
    return addNarrowValues(sums, weights);
  SmallVector<Tf32Split::Fragment> lefts;
  for (size_t i = 0; i < weights.size(); i += 4)
    lefts.push_back(products.fragment({weights[i], weights[i + 2], weights[i + 1], weights[i + 3]}));
  SmallVector<Value> all;
  for (size_t c = 0; c < sums.size(); c += 4) {
    SmallVector<Value> four(sums.slice(c, 4));
    // With a TF32 split, the accumulators of each tile start at zero (see Tf32Split.h).
    Tf32Split::Sum sum = products.begin(products.makesTwo() ? SmallVector<Value>(4, number(0)) : four);
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

SmallVector<Value> GpuAttention::overTiles(ArrayRef<Value> start, bool adds, Step step) {
  e.forget();
  Index begin = e.constant(0), end = e.expression(space.back());
  if (!parts.count().is(1)) { // a split of the columns consists of full tiles
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
    gpu.waitForCopies(0);
    gpu.barrier(); // the tile of k has arrived, and all threads have read the previous tile of v
    SmallVector<Value> nextValues = adds ? values.bring(batch, column) : SmallVector<Value>();
    SmallVector<Value> made = scores();
    values.put(nextValues);
    gpu.waitForCopies(0);
    gpu.barrier(); // the tile of v has arrived, and all threads have read that of k
    SmallVector<Value> nextKeys = keys.bring(batch, e.add(column, e.constant(tile())));
    SmallVector<Value> next = step(loop.getRegionIterArgs(), made, e.add(column, warpColumn));
    keys.put(nextKeys);
    scf::YieldOp::create(b, loc(), next);
  }
  e.forget();
  gpu.waitForCopies(0);
  gpu.barrier();
  return llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
}

Index GpuAttention::columnOf(size_t i, Index firstColumn) {
  Index own = e.add(e.mul(inGroup, e.constant(2)), e.constant(ownColumn(i)));
  return e.add(firstColumn, own);
}
bool GpuAttention::fillsTiles() const { return space.back().constant().value_or(1) % tile() == 0; }
Value GpuAttention::hasColumn(size_t i, Index firstColumn) {
  if (fillsTiles())
    return nullptr;
  // To check whether a column of the scores exists, compare indices within the tile, which fit 32
  // bits. Each column then needs one comparison with a constant.
  auto narrow = [&](Index index) -> Value { return arith::IndexCastOp::create(b, loc(), b.getI32Type(), index.base); };
  Value rest = narrow(e.min(e.sub(e.expression(space.back()), firstColumn), e.constant(tile())));
  Value own = arith::SubIOp::create(b, loc(), rest, narrow(e.mul(inGroup, e.constant(2))));
  Value known = arith::ConstantOp::create(b, loc(), b.getI32IntegerAttr(int32_t(ownColumn(i))));
  return arith::CmpIOp::create(b, loc(), arith::CmpIPredicate::sgt, own, known);
}
SmallVector<Index> GpuAttention::placeOf(size_t i, Index column) {
  SmallVector<Index> at(batch);
  if (!fillsTiles())
    column = e.min(column, e.sub(e.expression(space.back()), e.constant(1)));
  at.append({row[rowOf(i)], column});
  return at;
}

Value GpuAttention::readAt(Value tensor, Value score, ArrayRef<Index> at) {
  e.bind(attention.first->getResult(0), score);
  Value value = e.read(tensor, at);
  e.unbind(attention.first->getResult(0));
  return value;
}

SmallVector<Value> GpuAttention::meet(ReduceOpInterface reduce, SmallVector<Value> states) {
  for (int64_t distance : {1, 2}) {
    SmallVector<Value> other = llvm::map_to_vector(states, [&](Value v) { return gpu.shuffle(v, distance); });
    states = reduce.merge(b, loc(), states, other);
  }
  return states;
}

/// Returns true if the buffer's last dim is contiguous and pairs of its elements are aligned to the
/// size of a pair.
static bool hasPairs(const Buffer &buffer) {
  return vectorBytes(buffer.elementType) > 0 && isEven(buffer) && buffer.strides.back().is(1) &&
         linesBeginAt(buffer, int64_t(buffer.dims.size()) - 1, 2);
}

/// Emits the epilogue for the `count` accumulators from accumulator `i` on, which are in
/// neighbouring columns, and stores the results.
void GpuAttention::write(ArrayRef<Value> sums, size_t i, size_t count) {
  SmallVector<SmallVector<Value>> made(k.results.size());
  SmallVector<Index> place;
  for (size_t own = i; own < i + count; ++own) {
    SmallVector<Index> at(batch);
    at.append({row[rowOf(own)], columnOf(own, e.constant(0))});
    if (own == i)
      place = at;
    e.bind(attention.second->getResult(0), sums[own]);
    for (auto [list, result] : llvm::zip(made, k.results))
      list.push_back(e.read(result, at));
    e.unbind(attention.second->getResult(0));
  }
  for (auto [buffer, values] : llvm::zip(k.outputs, made)) {
    if (count == 1) {
      e.write(buffer, place, values[0]);
      continue;
    }
    ElementEmitter wide(b, loc(), int64_t(count), k.symbols, k.inputs);
    place.back().stride = 1;
    auto type = VectorType::get({int64_t(count)}, values[0].getType());
    wide.write(buffer, place, vector::FromElementsOp::create(b, loc(), type, values));
    auto store = cast<vector::StoreOp>(*std::prev(b.getInsertionPoint()));
    store.setAlignment(count * store.getVectorType().getElementTypeBitWidth() / 8);
  }
}

void GpuAttention::finish(ArrayRef<Value> given) {
  e.forget();
  SmallVector<Value> sums(given);
  if (!space.back().constant()) { // the scores may have no columns
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

OrReason<FusedAttention> gpuAttention(KernelContext &k) {
  const OrReason<FusedAttention> &attention = k.analysis->attention;
  if (!attention)
    return attention;
  Eligibility takes = plan::ScheduleModel::of(k.kernel).fusesAttention(*attention);
  return takes ? attention : takes;
}

OrReason<OnlineRows> onlineRows(KernelContext &k, OpBuilder &b, const FusedAttention &attention) {
  ElementEmitter tried(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs);
  return onlineRows(tried, attention);
}

LogicalResult emitGpuAttention(KernelContext &k, OpBuilder &b, plan::GpuAttentionAttr schedule,
                               const std::optional<Buffer> &memory) {
  OrReason<FusedAttention> attention = gpuAttention(k);
  if (!attention)
    return refuse(k, schedule) << ", but is not fused attention that fits a block: " << attention.why();
  Type factors = schedule.getFactors();
  if (!factors.isF32() && factors != plan::gpuAttentionFactors(*attention))
    return refuse(k, schedule) << ", but its operands do not have the type `factors`";
  int64_t step = (factors.isF32() ? 1 : 2) * GpuAttention::kFragment;
  if (schedule.getColumns() % step != 0)
    return refuse(k, schedule) << ", but columns must be a multiple of " << step;
  if (failed(verifyScratch(k, plan::gpuAttentionScratch(*attention, schedule), memory)))
    return failure();
  if (!schedule.getOnline()) {
    emitAttentionPasses(k, b, *attention, schedule);
    return success();
  }
  OrReason<OnlineRows> online = onlineRows(k, b, *attention);
  if (!online)
    return refuse(k, schedule) << ", but its rows need more than one pass: " << online.why();
  emitOnlineAttention(k, b, *attention, schedule, memory, *online);
  return success();
}

} // namespace hewn::codegen
