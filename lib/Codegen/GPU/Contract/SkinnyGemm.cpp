// SPDX-License-Identifier: Apache-2.0
//
// Skinny GEMMs: contractions with small M or N, such as one step of decoding.
#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/GPU/Contract/GpuContractEngine.h"
#include "lib/Codegen/GPU/Contract/GpuContraction.h"
#include "lib/Codegen/GPU/Loops/GpuWide.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Limit of the number of loads that a thread has in flight.
constexpr int64_t kAhead = 8;

/// `fewOf` is the number of rows (or columns) on the skinny side. `placesOf` is the number of
/// columns (or rows) of the larger operand that a block computes at a time.
bool areRowsFew(plan::GpuContractAttr schedule) { return schedule.getForm() == plan::GpuForm::FewRows; }
int64_t fewOf(plan::GpuContractAttr schedule) { return areRowsFew(schedule) ? schedule.getM() : schedule.getN(); }
int64_t placesOf(plan::GpuContractAttr schedule) { return areRowsFew(schedule) ? schedule.getN() : schedule.getM(); }

/// Returns true if the larger operand is contiguous along K.
bool liesAlongSum(const GpuTiles &tiles, plan::GpuContractAttr schedule) {
  return areRowsFew(schedule) ? tiles.rightAlongSum : tiles.leftAlongSum;
}

/// Emits a skinny GEMM. Comments describe a small M, in which the right operand is the larger one.
/// For a small N, exchange rows and columns.
///
/// The kernel reads each element of the larger operand once, so it is bound by memory bandwidth:
/// all multiprocessors must read, and loads must be coalesced.
///
/// - If the larger operand is contiguous along N, a block takes at most as many columns as a warp
///   has lanes. A lane loads several columns at once. The remaining lanes and all warps split K and
///   combine their partials in shared memory.
/// - If the larger operand is contiguous along K, each warp takes one column. Its lanes split K and
///   combine their partials with shuffles.
///
/// Each thread has several 16-byte loads in flight, because bytes in flight, not threads, saturate
/// the memory.
///
/// If many launches read the same weights (lib/Transforms/Fuse/MarkResidentWeights.cpp), a block of
/// the first form may keep its columns of the weights in shared memory. `keep` loads them;
/// `runKept` is the kernel that reads them. Only the first columns of a block are resident. If the
/// launch has so few blocks that a block computes more columns, it reads those from global memory.
class SkinnyGemmEmitter : GpuContraction {
public:
  SkinnyGemmEmitter(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule)
      : GpuContraction(k, b, tiles, plan::kFewThreads), warps(plan::kFewThreads / gpu.warp),
        rowsAreFew(areRowsFew(schedule)), alongSum(liesAlongSum(tiles, schedule)), few(fewOf(schedule)),
        places(placesOf(schedule)), manyList(rowsAreFew ? tiles.columns : tiles.rows),
        fewList(rowsAreFew ? tiles.rows : tiles.columns), many(rowsAreFew ? columns : rows) {}

  void run() {
    width = placesAtOnce();
    prepare();
    makeExchange();
    gpu.overBlocks(graph::numElements(counts), [&](Index item) { make(item, Value()); });
  }

  /// Loads the larger operand's elements for the first `places` columns of the block into `kept`.
  void keep(Value kept) {
    prepare();
    forFirst([&] {
      moveTo({gpu.block});
      e.forget();
      auto loop = scf::ForOp::create(b, loc(), ownSum.base, e.expression(depth).base, e.constant(sharers).base);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop.getBody()->getTerminator());
      Index at{loop.getInductionVar()};
      set(tiles.summed, at);
      gpu.storeShared(readOperand(e, larger()), kept, placeInKept(at));
      e.forget();
    });
  }

  void runKept(Value kept) {
    prepare();
    makeExchange();
    gpu.wantBlocks(graph::numElements(counts));
    forFirst([&] { make({gpu.block}, kept); });
    gpu.stride(e.add({gpu.block}, {gpu.blocks}), e.expression(graph::numElements(counts)), {gpu.blocks},
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
  /// Number of contiguous columns that a lane loads at once and computes.
  int64_t width = 1;

  unsigned larger() const { return rowsAreFew ? 1 : 0; }

  /// Returns how many contiguous columns of the larger operand one load can read. Vectors must be
  /// aligned and must not cross the end of the innermost dim.
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
    int64_t most = std::min(GpuWide::kBytes / bytes, places);
    bool isBlocked = buffer.blockDim == int64_t(*dim);
    bool areNeighbours = isBlocked ? buffer.block % most == 0 : buffer.blockDim < 0 && buffer.strides[*dim].is(1);
    bool begin = linesBeginAt(buffer, isBlocked ? -1 : int64_t(*dim), most);
    return areNeighbours && begin && tiles.extents[manyList.back()].divideExactly(DimExpr(most)) ? most : 1;
  }

  void prepare() {
    lane = e.mod({gpu.thread}, e.constant(gpu.warp));
    warp = e.floorDiv({gpu.thread}, e.constant(gpu.warp));
    zero = e.constantElement(graph::getElementType(op->getResult(0)), 0);
    // Compute this thread's first column, and its first index along K.
    int64_t lanesAcross = places / width;
    Index across = e.constant(lanesAcross), parts = e.constant(gpu.warp / lanesAcross);
    ownPlace = alongSum ? warp : e.mul(e.mod(lane, across), e.constant(width));
    ownSum = alongSum ? lane : e.add(e.mul(warp, parts), e.floorDiv(lane, across));
    sharers = alongSum ? gpu.warp : warps * (gpu.warp / lanesAcross);
    counts = {batch, many.ceilDiv(places)};
  }

  /// Allocates shared memory in which the warps combine their partial accumulators.
  void makeExchange() { exchange = alongSum ? Value() : gpu.shared(warps * few * places, zero.getType()); }

  /// Emits `body` in a branch that is taken by blocks that have columns to compute.
  void forFirst(llvm::function_ref<void()> body) {
    Value has = e.compare(arith::CmpIPredicate::slt, {gpu.block}, e.expression(graph::numElements(counts)));
    where(has, body);
  }

  void moveTo(Index item) {
    SmallVector<Index> at = e.unravel(item, counts);
    set(tiles.batch, at[0]);
    block = e.mul(at[1], e.constant(places));
    place = e.add(block, ownPlace);
    // Threads past the last column compute the last columns again, because all threads must reach
    // the barriers and shuffles.
    set(manyList, e.min(place, e.sub(e.expression(many), e.constant(width))));
  }

  Value placeInKept(Index inSum) { return e.add(e.mul(inSum, e.constant(places)), ownPlace).base; }

  /// Computes the columns of work item `item`. `kept` is the resident part of the larger operand in
  /// shared memory, or null if the operand is read from global memory.
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
    where(e.compare(arith::CmpIPredicate::slt, {gpu.thread}, e.constant(few * places)), [&] {
      Index number = e.floorDiv({gpu.thread}, e.constant(places));
      storeAt(sum, few == 1 ? e.constant(0) : number, e.add(block, e.mod({gpu.thread}, e.constant(places))));
    });
    gpu.barrier(); // all threads have read the partials before the next item overwrites them
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

  /// Returns the larger operand's elements at the current index along K, one for each of the lane's
  /// columns.
  SmallVector<Value> readLarger() {
    if (width == 1)
      return {readOperand(e, larger())};
    Index &last = iteration[manyList.back()];
    last.stride = 1;
    ElementEmitter wide(b, loc(), width, k.symbols, k.inputs);
    Value vector = readOperand(wide, larger());
    last.stride = 0;
    alignLoad(b);
    SmallVector<Value> elements;
    for (int64_t j = 0; j < width; ++j)
      elements.push_back(vector::ExtractOp::create(b, loc(), vector, ArrayRef<int64_t>{j}));
    return elements;
  }

  /// The operands' elements at one index along K. `larger` has one element for each of the lane's
  /// columns, `others` one for each row of the skinny operand.
  struct Factors {
    SmallVector<Value> larger, others;
  };
  Factors read(Index at, Value kept) {
    set(tiles.summed, at);
    Factors made;
    made.larger = kept ? SmallVector<Value>{gpu.loadShared(b.getF32Type(), kept, placeInKept(at))} : readLarger();
    for (int64_t i = 0; i < few; ++i) {
      set(fewList, e.constant(i));
      made.others.push_back(readOperand(e, 1 - larger()));
    }
    return made;
  }

  /// Emits the multiply-adds of a skinny GEMM at one index along K. If `isThere` is given and false
  /// at run time, the accumulators keep their values.
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

  /// Accumulates this thread's share of K: every `sharers`-th index from `own` on. An iteration
  /// processes `ahead` of them. The last iteration masks indices that are out of range.
  SmallVector<Value> sumUp(SmallVector<Value> sums, Index own, Value kept) {
    // Choose the number of indices along K per iteration so that the last iteration is not much
    // shorter than the others.
    int64_t most = std::max<int64_t>(1, kAhead / few), ahead = std::min<int64_t>(most, 4);
    if (std::optional<int64_t> known = depth.constant()) {
      int64_t steps = std::max<int64_t>(1, int64_t(llvm::divideCeil(*known, sharers)));
      ahead = int64_t(llvm::divideCeil(steps, llvm::divideCeil(steps, most)));
    }
    Index whole = e.expression(depth.floorDiv(sharers * ahead) * DimExpr(sharers * ahead));
    e.forget();
    auto some = [&](ValueRange before, Index from, bool areThere) {
      SmallVector<Value> next(before);
      Index last = e.sub(e.expression(depth), e.constant(1));
      auto placeOf = [&](int64_t i) { return e.add(from, e.constant(i * sharers)); };
      // Emit all loads of an iteration first, because ptxas does not hoist a load above the use of
      // an earlier one.
      SmallVector<Factors> factors;
      for (int64_t i = 0; i < ahead; ++i)
        factors.push_back(read(areThere ? placeOf(i) : e.min(placeOf(i), last), kept));
      for (int64_t i = 0; i < ahead; ++i)
        next = multiply(next, factors[size_t(i)],
                        areThere ? Value() : e.compare(arith::CmpIPredicate::sle, placeOf(i), last));
      return next;
    };
    auto block = [&](Index from, Index to, ValueRange before) {
      auto made = scf::ForOp::create(b, loc(), from.base, to.base, e.constant(sharers * ahead).base, before);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(made.getBody());
      scf::YieldOp::create(b, loc(), some(made.getRegionIterArgs(), {made.getInductionVar()}, true));
      e.forget();
      return SmallVector<Value>(made.getResults());
    };
    auto merge = [&](ValueRange x, ValueRange y) { return added(SmallVector<Value>(x), SmallVector<Value>(y)); };
    const BlockedSum sum(e, SmallVector<Value>(sums.size(), zero), merge);
    sums = sum.range(own, whole, sharers * ahead, depth.floorDiv(sharers * ahead).constant(), ahead, sums, block);
    std::optional<int64_t> rest = depth.constant();
    if (rest && *rest % (sharers * ahead) == 0)
      return sums;
    // This thread may have no index along K left, or K may be 0.
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

  /// Adds up, with shuffles, the partials of the lanes that share a column.
  void exchangeInRegisters(SmallVector<Value> &sums) {
    for (int64_t distance = gpu.warp / 2; distance >= (alongSum ? 1 : places / width); distance /= 2)
      sums = added(sums, llvm::map_to_vector(sums, [&](Value sum) { return gpu.shuffle(sum, distance); }));
  }

  /// Adds up, in shared memory, the partials of all warps. Returns the accumulator of the result
  /// element that this thread stores.
  Value exchangeInMemory(ArrayRef<Value> sums) {
    Index ofWarp = e.mul(warp, e.constant(few * places));
    where(e.compare(arith::CmpIPredicate::slt, lane, e.constant(places / width)), [&] {
      for (int64_t i = 0; i < few; ++i)
        for (int64_t j = 0; j < width; ++j)
          gpu.storeShared(sums[size_t(i * width + j)], exchange,
                          e.add(e.add(ofWarp, ownPlace), e.constant(i * places + j)).base);
    });
    gpu.barrier();
    Index own = e.min({gpu.thread}, e.constant(few * places - 1));
    Value sum;
    for (int64_t w = 0; w < warps; ++w) {
      Value one = gpu.loadShared(zero.getType(), exchange, e.add(own, e.constant(w * few * places)).base);
      sum = sum ? e.addElements(sum, one) : one;
    }
    return sum;
  }
};

} // namespace

LogicalResult verifySkinnyGemm(KernelContext &k, const GpuTiles &tiles, plan::GpuContractAttr schedule) {
  std::optional<int64_t> count =
      graph::numElements(tiles.dims(areRowsFew(schedule) ? tiles.rows : tiles.columns)).constant();
  if (count != fewOf(schedule) || *count > plan::kMaxFew)
    return refuse(k, schedule) << ", but its skinny side must have all rows or columns, and " << plan::kMaxFew
                               << " at most";
  int64_t warp = plan::gpuOf(k.kernel).getWarpSize(), places = placesOf(schedule);
  if (liesAlongSum(tiles, schedule) ? places != plan::kFewThreads / warp : warp % places != 0)
    return refuse(k, schedule)
           << ", but a block takes " << plan::kFewThreads / warp
           << " rows or columns of an operand that is contiguous along K, otherwise a divisor of the " << warp
           << " lanes of a warp";
  return success();
}

void emitSkinnyGemm(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule) {
  SkinnyGemmEmitter(k, b, tiles, schedule).run();
}

std::optional<int64_t> bytesKeptByFew(const GpuTiles &tiles, plan::GpuContractAttr schedule) {
  std::optional<int64_t> depth = graph::numElements(tiles.dims(tiles.summed)).constant();
  Value larger = graph::ContractOpInterface(tiles.op)->getOperand(areRowsFew(schedule) ? 1 : 0);
  Type type = graph::computeType(graph::getElementType(larger));
  if (!depth || !type.isF32() || liesAlongSum(tiles, schedule))
    return std::nullopt;
  int64_t bytes = 0;
  bool fits = !llvm::MulOverflow(*depth, placesOf(schedule) * 4, bytes) && bytes <= INT32_MAX;
  return fits ? std::optional(bytes) : std::nullopt;
}

void emitSkinnyGemmKeep(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule,
                        Value kept) {
  SkinnyGemmEmitter(k, b, tiles, schedule).keep(kept);
}

void emitSkinnyGemmKept(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule,
                        Value kept) {
  SkinnyGemmEmitter(k, b, tiles, schedule).runKept(kept);
}

} // namespace hewn::codegen
