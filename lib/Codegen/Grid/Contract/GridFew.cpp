// SPDX-License-Identifier: Apache-2.0
//
// Contractions with few rows, or few columns: one row of an image's features, one step of a recurrence or of decoding. They
// read each element of the larger operand once, so the memory is what counts: all processors must read, and neighbouring
// threads what lies side by side.
//
// Where the larger operand lies along its own dim, a block takes as many places of it as a warp has lanes, or fewer, a lane several side
// by side where these can be read at once; lanes beyond the places share the sum, and so do the warps, which meet in shared memory. Where
// it lies along the sum, a warp takes a place, its lanes share the sum, and meet in registers.
//
// Memory is kept busy by bytes under way, not by threads: each has several loads of 16 bytes, of its last ones those that are there.
//
// Of the first form a block may keep what it reads of the larger operand in shared memory, where that is the same for many launches
// (lib/Transforms/Fuse/KeepConstants.cpp): one function brings it there, another one reads it there. The function that reads has
// no more than the block's first places there; what is left for a block to do, where few run, it reads from memory.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/Grid/Contract/GridContractEngine.h"
#include "lib/Codegen/Grid/Contract/GridContraction.h"
#include "lib/Codegen/Grid/Loops/GridWide.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Loads of a thread on their way at once, at most.
constexpr int64_t kAhead = 8;

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
        places(placesOf(schedule)), manyList(rowsAreFew ? tiles.columns : tiles.rows),
        fewList(rowsAreFew ? tiles.rows : tiles.columns), many(rowsAreFew ? columns : rows) {}

  void run() {
    width = placesAtOnce();
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
      grid.storeShared(readOperand(e, larger()), kept, placeInKept(at));
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
  const ArrayRef<unsigned> manyList, fewList;
  const DimExpr many;
  int64_t sharers = 1;
  Dims counts;
  Index lane, warp, ownPlace, ownSum, block, place;
  Value exchange, zero;
  /// Places of a lane, which it reads at once.
  int64_t width = 1;

  unsigned larger() const { return rowsAreFew ? 1 : 0; }

  /// How many places side by side are read by one load: none goes beyond the last dim, and each begins at a multiple of its size.
  int64_t placesAtOnce() {
    auto found = k.inputs.find(op->getOperand(larger()));
    if (alongSum || found == k.inputs.end() || manyList.empty())
      return 1;
    const Buffer &buffer = found->second;
    std::optional<unsigned> dim = graph::resultWith(tiles.maps[larger()], manyList.back());
    int64_t bytes = vectorBytes(buffer.elementType);
    if (!isa<FloatType>(buffer.elementType) || bytes == 0 || !dim ||
        !isa<AffineDimExpr>(tiles.maps[larger()].getResult(*dim)) || buffer.groupDim >= 0)
      return 1;
    int64_t most = std::min(GridWide::kBytes / bytes, places);
    bool isBlocked = buffer.blockDim == int64_t(*dim);
    bool areNeighbours = isBlocked ? buffer.block % most == 0 : buffer.blockDim < 0 && buffer.strides[*dim].is(1);
    bool begin = linesBeginAt(buffer, isBlocked ? -1 : int64_t(*dim), most);
    return areNeighbours && begin && tiles.extents[manyList.back()].divideExactly(DimExpr(most)) ? most : 1;
  }

  void prepare() {
    lane = e.mod({grid.thread}, e.constant(grid.warp));
    warp = e.floorDiv({grid.thread}, e.constant(grid.warp));
    zero = e.constantElement(graph::getElementType(op->getResult(0)), 0);
    // This thread's place, and its part of the sum.
    int64_t lanesAcross = places / width;
    Index across = e.constant(lanesAcross), parts = e.constant(grid.warp / lanesAcross);
    ownPlace = alongSum ? warp : e.mul(e.mod(lane, across), e.constant(width));
    ownSum = alongSum ? lane : e.add(e.mul(warp, parts), e.floorDiv(lane, across));
    sharers = alongSum ? grid.warp : warps * (grid.warp / lanesAcross);
    counts = {batch, many.ceilDiv(places)};
  }

  /// The memory in which warps meet.
  void makeExchange() { exchange = alongSum ? Value() : grid.shared(warps * few * places, zero.getType()); }

  /// `body`, where the block has places at all.
  void forFirst(llvm::function_ref<void()> body) {
    Value has = e.compare(arith::CmpIPredicate::slt, {grid.block}, e.expression(graph::numElements(counts)));
    where(has, body);
  }

  void moveTo(Index item) {
    SmallVector<Index> at = e.unravel(item, counts);
    set(tiles.batch, at[0]);
    block = e.mul(at[1], e.constant(places));
    place = e.add(block, ownPlace);
    // Those beyond the end do the last ones' work once more: all must meet.
    set(manyList, e.min(place, e.sub(e.expression(many), e.constant(width))));
  }

  Value placeInKept(Index inSum) { return e.add(e.mul(inSum, e.constant(places)), ownPlace).base; }

  /// The places of an item; `kept`: where the larger operand is, null: in memory.
  void make(Index item, Value kept) {
    moveTo(item);
    SmallVector<Value> sums = sumUp(SmallVector<Value>(few * width, zero), ownSum, kept);
    exchangeInRegisters(sums);
    if (alongSum) {
      where(e.compare(arith::CmpIPredicate::eq, ownSum, e.constant(0)), [&] {
        for (int64_t i = 0; i < few; ++i)
          storeAt(sums[i], e.constant(i), place);
      });
      return;
    }
    Value sum = exchangeInMemory(sums);
    where(e.compare(arith::CmpIPredicate::slt, {grid.thread}, e.constant(few * places)), [&] {
      Index number = e.floorDiv({grid.thread}, e.constant(places));
      storeAt(sum, few == 1 ? e.constant(0) : number, e.add(block, e.mod({grid.thread}, e.constant(places))));
    });
    grid.barrier(); // before the next places' sums come
  }

  void storeAt(Value sum, Index inFew, Index inMany) {
    if (rowsAreFew)
      store(sum, inFew, inMany);
    else
      store(sum, inMany, inFew);
  }

  void where(Value condition, llvm::function_ref<void()> body) {
    auto branch = scf::IfOp::create(b, loc(), condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    e.forget();
    body();
    e.forget();
  }

  /// The larger operand's elements at the current iteration, of each of the lane's places.
  SmallVector<Value> readLarger() {
    if (width == 1)
      return {readOperand(e, larger())};
    Index &last = iteration[manyList.back()];
    last.stride = 1;
    KernelElements wide(b, loc(), width, k.symbols, k.inputs);
    Value vector = readOperand(wide, larger());
    last.stride = 0;
    alignLoad(b);
    SmallVector<Value> elements;
    for (int64_t j = 0; j < width; ++j)
      elements.push_back(vector::ExtractOp::create(b, loc(), vector, ArrayRef<int64_t>{j}));
    return elements;
  }

  /// What is multiplied at a summed place: of the larger operand each of the lane's places, of the other one each of the few.
  struct Factors {
    SmallVector<Value> larger, others;
  };
  Factors read(Index at, Value kept) {
    set(tiles.summed, at);
    Factors made;
    made.larger = kept ? SmallVector<Value>{grid.loadShared(b.getF32Type(), kept, placeInKept(at))} : readLarger();
    for (int64_t i = 0; i < few; ++i) {
      set(fewList, e.constant(i));
      made.others.push_back(readOperand(e, 1 - larger()));
    }
    return made;
  }

  /// Their products, added; `isThere`: whether there is such a place, null: there is.
  SmallVector<Value> multiply(ValueRange sums, const Factors &factors, Value isThere) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < few; ++i)
      for (int64_t j = 0; j < width; ++j) {
        Value sum = sums[size_t(i * width + j)];
        Value more = e.multiplyAdd(sum, factors.larger[size_t(j)], factors.others[size_t(i)]);
        next.push_back(isThere ? arith::SelectOp::create(b, loc(), isThere, more, sum).getResult() : more);
      }
    return next;
  }

  /// This thread's part of the sum: every `sharers`th place from `own` on, several at a time, of the last ones those that are there.
  SmallVector<Value> sumUp(SmallVector<Value> sums, Index own, Value kept) {
    // As many at a time as make the turns equal.
    int64_t most = std::max<int64_t>(1, kAhead / few), ahead = std::min<int64_t>(most, 4);
    if (std::optional<int64_t> known = depth.constant()) {
      int64_t steps = std::max<int64_t>(1, int64_t(llvm::divideCeil(*known, sharers)));
      ahead = int64_t(llvm::divideCeil(steps, llvm::divideCeil(steps, most)));
    }
    Index whole = e.expression(depth.floorDiv(sharers * ahead) * DimExpr(sharers * ahead));
    e.forget();
    auto made = scf::ForOp::create(b, loc(), own.base, whole.base, e.constant(sharers * ahead).base, sums);
    auto some = [&](ValueRange before, Index from, bool areThere) {
      SmallVector<Value> next(before);
      Index last = e.sub(e.expression(depth), e.constant(1));
      auto placeOf = [&](int64_t i) { return e.add(from, e.constant(i * sharers)); };
      // All loads come first: assemblers leave them where they are, and begin none before what is used in between has come.
      SmallVector<Factors> factors;
      for (int64_t i = 0; i < ahead; ++i)
        factors.push_back(read(areThere ? placeOf(i) : e.min(placeOf(i), last), kept));
      for (int64_t i = 0; i < ahead; ++i)
        next = multiply(next, factors[size_t(i)],
                        areThere ? Value() : e.compare(arith::CmpIPredicate::sle, placeOf(i), last));
      return next;
    };
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(made.getBody());
      scf::YieldOp::create(b, loc(), some(made.getRegionIterArgs(), {made.getInductionVar()}, true));
      e.forget();
    }
    sums.assign(made.getResults().begin(), made.getResults().end());
    std::optional<int64_t> rest = depth.constant();
    if (rest && *rest % (sharers * ahead) == 0)
      return sums;
    // There may be no summed place at all.
    Value any = e.compare(arith::CmpIPredicate::slt, e.add(whole, own), e.expression(depth));
    auto branch = scf::IfOp::create(b, loc(), TypeRange(ValueRange(sums)), any, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      e.forget();
      scf::YieldOp::create(b, loc(), some(sums, e.add(whole, own), false));
      e.forget();
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, loc(), sums);
    }
    return SmallVector<Value>(branch.getResults());
  }

  SmallVector<Value> added(ArrayRef<Value> x, ArrayRef<Value> y) {
    SmallVector<Value> sums;
    for (auto [l, r] : llvm::zip(x, y))
      sums.push_back(e.addElements(l, r));
    return sums;
  }

  /// Lanes that share a sum.
  void exchangeInRegisters(SmallVector<Value> &sums) {
    for (int64_t distance = grid.warp / 2; distance >= (alongSum ? 1 : places / width); distance /= 2)
      sums = added(sums, llvm::map_to_vector(sums, [&](Value sum) { return grid.shuffle(sum, distance); }));
  }

  /// Every warp's sums to memory, by the first lanes that have them; of each thread that there is a sum for that sum.
  Value exchangeInMemory(ArrayRef<Value> sums) {
    Index ofWarp = e.mul(warp, e.constant(few * places));
    where(e.compare(arith::CmpIPredicate::slt, lane, e.constant(places / width)), [&] {
      for (int64_t i = 0; i < few; ++i)
        for (int64_t j = 0; j < width; ++j)
          grid.storeShared(sums[size_t(i * width + j)], exchange,
                           e.add(e.add(ofWarp, ownPlace), e.constant(i * places + j)).base);
    });
    grid.barrier();
    Index own = e.min({grid.thread}, e.constant(few * places - 1));
    Value sum;
    for (int64_t w = 0; w < warps; ++w) {
      Value one = grid.loadShared(zero.getType(), exchange, e.add(own, e.constant(w * few * places)).base);
      sum = sum ? e.addElements(sum, one) : one;
    }
    return sum;
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
