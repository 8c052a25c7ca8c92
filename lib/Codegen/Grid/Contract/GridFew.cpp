// SPDX-License-Identifier: Apache-2.0
//
// Contractions with few rows, or few columns: one row of an image's features, one step of a recurrence or of decoding. They
// read each element of the larger operand once, so the memory is what counts: all processors must read, and neighbouring
// threads what lies side by side.
//
// Where the larger operand lies along its own dim, a block takes as many places of it as a warp has lanes, or fewer; lanes beyond the places share the sum, and so do the warps, which meet in shared memory. Where it lies
// along the sum, a warp takes a place, its lanes share the sum, and meet in registers.
//
// Of the first form a block may keep what it reads of the larger operand in shared memory, where that is the same for many launches
// (lib/Transforms/Fuse/KeepConstants.cpp): one function brings it there, another one reads it there. The function that reads has
// no more than the block's first places there; what is left for a block to do, where few run, it reads from memory.
#include "lib/Codegen/Grid/Contract/GridContractEngine.h"
#include "lib/Codegen/Grid/Contract/GridContraction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Loads of a thread on their way at once.
constexpr int64_t kAhead = 4;

/// The schedule's two sides: those that are few, and places of the larger operand that a block takes at a time.
bool areRowsFew(plan::GridContractAttr schedule) { return schedule.getForm() == plan::GridForm::FewRows; }
int64_t fewOf(plan::GridContractAttr schedule) { return areRowsFew(schedule) ? schedule.getM() : schedule.getN(); }
int64_t placesOf(plan::GridContractAttr schedule) { return areRowsFew(schedule) ? schedule.getN() : schedule.getM(); }

/// Whether the larger operand lies along the sum.
bool liesAlongSum(const GridTiles &tiles, plan::GridContractAttr schedule) {
  return areRowsFew(schedule) ? tiles.rightAlongSum : tiles.leftAlongSum;
}

class GridFewEmitter : GridContraction {
public:
  GridFewEmitter(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule)
      : GridContraction(k, b, tiles, plan::kFewThreads), warps(plan::kFewThreads / grid.warp),
        rowsAreFew(areRowsFew(schedule)), alongSum(liesAlongSum(tiles, schedule)), few(fewOf(schedule)),
        places(placesOf(schedule)) {}

  void run() {
    prepare();
    makeExchange();
    grid.overBlocks(graph::numElements(counts), [&](Index item) { make(item, Value()); });
  }

  /// Brings the larger operand of the block's first places to `kept`.
  void keep(Value kept) {
    prepare();
    forFirst([&] {
      moveTo({grid.block});
      e.forget();
      auto loop = scf::ForOp::create(b, loc(), ownSum.base, e.expression(depth).base, e.constant(sharers).base);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop.getBody()->getTerminator());
      Index at{loop.getInductionVar()};
      set(tiles.summed, at);
      grid.storeShared(readOperand(e, rowsAreFew ? 1 : 0), kept, placeInKept(at));
      e.forget();
    });
  }

  void runKept(Value kept) {
    prepare();
    makeExchange();
    grid.wantBlocks(graph::numElements(counts));
    forFirst([&] { make({grid.block}, kept); });
    grid.stride(e.add({grid.block}, {grid.blocks}), e.expression(graph::numElements(counts)), {grid.blocks},
                [&](Index item) { make(item, Value()); });
  }

private:
  const int64_t warps;
  const bool rowsAreFew, alongSum;
  const int64_t few, places;
  ArrayRef<unsigned> manyList, fewList;
  DimExpr many;
  int64_t sharers = 1;
  Dims counts;
  Index lane, warp, ownPlace, ownSum, place;
  Value exchange, zero;

  void prepare() {
    manyList = rowsAreFew ? tiles.columns : tiles.rows;
    fewList = rowsAreFew ? tiles.rows : tiles.columns;
    many = rowsAreFew ? columns : rows;
    lane = e.mod({grid.thread}, e.constant(grid.warp));
    warp = e.floorDiv({grid.thread}, e.constant(grid.warp));
    zero = e.constantElement(graph::getElementType(op->getResult(0)), 0);
    // This thread's place, and its part of the sum.
    Index across = e.constant(places), parts = e.constant(grid.warp / places);
    ownPlace = alongSum ? warp : e.mod(lane, across);
    ownSum = alongSum ? lane : e.add(e.mul(warp, parts), e.floorDiv(lane, across));
    sharers = alongSum ? grid.warp : warps * (grid.warp / places);
    counts = {batch, many.ceilDiv(places)};
  }

  /// The memory in which warps meet.
  void makeExchange() { exchange = alongSum ? Value() : grid.shared(warps * few * grid.warp, zero.getType()); }

  /// `body`, where the block has places at all.
  void forFirst(llvm::function_ref<void()> body) {
    Value has = e.compare(arith::CmpIPredicate::slt, {grid.block}, e.expression(graph::numElements(counts)));
    auto branch = scf::IfOp::create(b, loc(), has, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    e.forget();
    body();
    e.forget();
  }

  void moveTo(Index item) {
    SmallVector<Index> at = e.unravel(item, counts);
    set(tiles.batch, at[0]);
    place = e.add(e.mul(at[1], e.constant(places)), ownPlace);
    // Those beyond the end do the last one's work once more: all must meet.
    set(manyList, e.min(place, e.sub(e.expression(many), e.constant(1))));
  }

  Value placeInKept(Index inSum) { return e.add(e.mul(inSum, e.constant(places)), ownPlace).base; }

  /// The places of an item; `kept`: where the larger operand is, null: in memory.
  void make(Index item, Value kept) {
    moveTo(item);
    SmallVector<Value> sums = sumUp(SmallVector<Value>(few, zero), ownSum, kept);
    exchangeInRegisters(sums);
    if (!alongSum)
      exchangeInMemory(sums, exchange, lane, warp);
    Value writes = e.compare(arith::CmpIPredicate::eq, ownSum, e.constant(0));
    auto branch = scf::IfOp::create(b, loc(), writes, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(branch.thenBlock()->getTerminator());
      e.forget();
      for (int64_t i = 0; i < few; ++i) {
        if (rowsAreFew)
          store(sums[i], e.constant(i), place);
        else
          store(sums[i], place, e.constant(i));
      }
      e.forget();
    }
    if (!alongSum)
      grid.barrier(); // before the next places' sums come
  }

  /// The products at summed place `at`, added.
  SmallVector<Value> step(ValueRange sums, Index at, Value kept) {
    set(tiles.summed, at);
    Value shared = kept ? grid.loadShared(b.getF32Type(), kept, placeInKept(at)) : readOperand(e, rowsAreFew ? 1 : 0);
    SmallVector<Value> next;
    for (auto [i, sum] : llvm::enumerate(sums)) {
      set(fewList, e.constant(int64_t(i)));
      next.push_back(e.multiplyAdd(sum, shared, readOperand(e, rowsAreFew ? 0 : 1)));
    }
    return next;
  }

  /// This thread's part of the sum: every `sharers`th place from `own` on, several at a time while there are.
  SmallVector<Value> sumUp(SmallVector<Value> sums, Index own, Value kept) {
    auto loop = [&](Index from, Index to, int64_t ahead) {
      e.forget();
      auto made = scf::ForOp::create(b, loc(), from.base, to.base, e.constant(sharers * ahead).base, sums);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(made.getBody());
      SmallVector<Value> next(made.getRegionIterArgs());
      for (int64_t i = 0; i < ahead; ++i)
        next = step(next, e.add({made.getInductionVar()}, e.constant(i * sharers)), kept);
      scf::YieldOp::create(b, loc(), next);
      e.forget();
      sums.assign(made.getResults().begin(), made.getResults().end());
    };
    Index whole = e.expression(depth.floorDiv(sharers * kAhead) * DimExpr(sharers * kAhead));
    loop(own, whole, kAhead);
    loop(e.add(whole, own), e.expression(depth), 1);
    return sums;
  }

  SmallVector<Value> added(ArrayRef<Value> x, ArrayRef<Value> y) {
    SmallVector<Value> sums;
    for (auto [l, r] : llvm::zip(x, y))
      sums.push_back(e.addElements(l, r));
    return sums;
  }

  /// Lanes that share a sum.
  void exchangeInRegisters(SmallVector<Value> &sums) {
    for (int64_t distance = grid.warp / 2; distance >= (alongSum ? 1 : places); distance /= 2)
      sums = added(sums, llvm::map_to_vector(sums, [&](Value sum) { return grid.shuffle(sum, distance); }));
  }

  /// Every warp's sums to memory, and all of them added by each thread.
  void exchangeInMemory(SmallVector<Value> &sums, Value memory, Index lane, Index warp) {
    auto place = [&](Index w, int64_t i) {
      return e.add(e.mul(e.add(e.mul(w, e.constant(few)), e.constant(i)), e.constant(grid.warp)), lane).base;
    };
    for (int64_t i = 0; i < few; ++i)
      grid.storeShared(sums[i], memory, place(warp, i));
    grid.barrier();
    Type type = sums[0].getType();
    auto of = [&](int64_t w) {
      SmallVector<Value> list;
      for (int64_t i = 0; i < few; ++i)
        list.push_back(grid.loadShared(type, memory, place(e.constant(w), i)));
      return list;
    };
    sums = of(0);
    for (int64_t w = 1; w < warps; ++w)
      sums = added(sums, of(w));
  }
};

} // namespace

LogicalResult verifyGridFew(KernelFunction &k, const GridTiles &tiles, plan::GridContractAttr schedule) {
  std::optional<int64_t> count =
      graph::numElements(tiles.dims(areRowsFew(schedule) ? tiles.rows : tiles.columns)).constant();
  if (count != fewOf(schedule) || *count > plan::kMaxFew)
    return refuse(k, schedule) << ", of which the few must be all that there are, and " << plan::kMaxFew << " at most";
  int64_t warp = plan::gridOf(k.kernel).getWarpSize(), places = placesOf(schedule);
  if (liesAlongSum(tiles, schedule) ? places != plan::kFewThreads / warp : warp % places != 0)
    return refuse(k, schedule) << ", and a block takes " << plan::kFewThreads / warp
                               << " places of an operand that lies along the sum, or a part of the " << warp
                               << " lanes of a warp along its places";
  return success();
}

void emitGridFew(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule) {
  GridFewEmitter(k, b, tiles, schedule).run();
}

std::optional<int64_t> bytesKeptByFew(const GridTiles &tiles, plan::GridContractAttr schedule) {
  std::optional<int64_t> depth = graph::numElements(tiles.dims(tiles.summed)).constant();
  Value larger = graph::ContractOpInterface(tiles.op)->getOperand(areRowsFew(schedule) ? 1 : 0);
  Type type = graph::computeType(graph::getElementType(larger));
  if (!depth || !type.isF32() || liesAlongSum(tiles, schedule))
    return std::nullopt;
  int64_t bytes = 0;
  bool fits = !llvm::MulOverflow(*depth, placesOf(schedule) * 4, bytes) && bytes <= INT32_MAX;
  return fits ? std::optional(bytes) : std::nullopt;
}

void emitGridFewKeep(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule,
                     Value kept) {
  GridFewEmitter(k, b, tiles, schedule).keep(kept);
}

void emitGridFewKept(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule,
                     Value kept) {
  GridFewEmitter(k, b, tiles, schedule).runKept(kept);
}

} // namespace hewn::codegen
