// SPDX-License-Identifier: Apache-2.0
//
// Contractions on matrix instructions: warp-level MMA (GpuBuilder::product) and warpgroup MMA
// (GpuBuilder::groupProduct).
#include "lib/Target/NVPTX/Kernels/Kernels.h"
#include "lib/Target/NVPTX/Kernels/MbarrierPipeline.h"
#include "lib/Target/NVPTX/Kernels/MmaOperand.h"
#include "lib/Target/NVPTX/Kernels/Tf32Split.h"
#include "lib/Target/NVPTX/Schedule/MmaSchedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <array>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Rows and columns of the result of one warp-level MMA. Right operands are loaded for two MMAs,
/// that is for 16 columns, at a time.
constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8;

/// Emits a kernel in which each block computes tiles of the result.
///
/// Operands of float16, bfloat16 and 8-bit integers are multiplied as they are. Float32 operands
/// are split into TF32 components (Tf32Split.h), so that the error is that of float32 accumulation.
/// (The lo component of a number below 2^-115 is subnormal and loses bits; this error is below
/// 2^-138.) One MMA instead of three is enough for float32s that were extended from a shorter type.
/// The user may also allow one MMA for all float32s.
///
/// The warps multiply one K-slice from shared memory while the next slices are copied, in a
/// multi-stage pipeline with one barrier per slice:
///
///     copy slices 0, ..., buffers - 2
///     for slice:  wait for its copies;  barrier;  copy slice + buffers - 1;  multiply slice
///
/// Warpgroups multiply from shared memory while their threads copy:
///
///     for slice:  wait for its copies;  fence;  barrier;  start MMAs;  copy;  wait for MMAs
///
/// If TMA can load both operands, a producer warpgroup starts the loads, also during the epilogues
/// of the consumers. Two mbarriers per buffer replace the barrier (MbarrierPipeline.h):
///
///     producer:   for tile: for slice:  wait until the buffer is empty;  start the loads
///     consumers:  for tile: for slice:  wait until it is full;  multiply;  release the buffer
///
/// If float32s are split, the producer warpgroup's other warps split the right operand in shared
/// memory, where warpgroup MMA reads it. Each consumer warp splits its rows of the left operand in
/// registers:
///
///     splitting warps:  for tile: for slice:  wait until full;  split the right operand;  report
///     consumers:        for tile: for slice:  wait until full;  split the left operand;
///                                             wait for the right operand;  multiply;  release
///
/// docs/decisions/kernels/3xtf32.md explains why float32 operands are split in this way.
class GpuMatrixEmitter : GpuContraction {
public:
  /// `blocks` is the maximum number of blocks of a kernel with TMA loads.
  GpuMatrixEmitter(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, const plan::GpuTile &tile, int64_t blocks)
      : GpuContraction(k, b, tiles, plan::threadsOf(tile, plan::gpuOf(k.kernel))), tile(tile), blocks(blocks),
        staged(plan::stagedType(op)), factors(b, k.loc(), gpu, splits()), left(*this, 0, staged, tile.rows, tile),
        right(*this, 1, plan::stagedType(op, 1), tile.columns, tile) {}

  void run() {
    // Estimate the registers of a thread: accumulators, and `others` for fragments, addresses and
    // staged elements. With a TF32 split, there are three sets of accumulators: results,
    // corrections, and the current segment.
    constexpr int64_t others = 56, splitOthers = 88;
    gpu.wantRegisters(corrects() ? 3 * int64_t(sums()) + splitOthers : int64_t(sums()) + others);
    Index warps = e.constant(tile.warpsHigh), size = e.constant(gpu.warp), four = e.constant(4);
    Index warp = e.floorDiv({gpu.thread}, size), lane = e.mod({gpu.thread}, size);
    group = e.floorDiv(lane, four);
    inGroup = e.mod(lane, four);
    warpRow = e.mul(e.mod(warp, warps), e.constant(tile.warpRows()));
    warpColumn = e.mul(e.floorDiv(warp, warps), e.constant(tile.warpColumns()));

    if (tile.fetches)
      return runFetching(lane);
    gpu.overBlocks(graph::numElements(counts()), [&](Index item) {
      Slices slices = beginTile(item);
      finish(multiply(slices));
    });
  }

  void fetchFrom(const TmaOperand &leftBox, const TmaOperand &rightBox) {
    left.fetchFrom(leftBox);
    right.fetchFrom(rightBox);
  }

private:
  const plan::GpuTile tile;
  const int64_t blocks;
  Type staged;
  Tf32Split factors;
  GpuOperand left, right;
  Index group, inGroup, warpRow, warpColumn, firstRow, firstColumn, batchNumber;

  int64_t fragmentsHigh() const { return tile.warpRows() / kFragmentRows; }
  int64_t fragmentsWide() const { return tile.warpColumns() / kFragmentColumns; }
  size_t sums() const { return size_t(fragmentsHigh() * fragmentsWide() * 4); }
  /// Returns true if float32s are split into TF32 components.
  bool splits() const { return plan::gpuOf(k.kernel).getMmasPerProduct() > 1; }
  /// Returns true if the MMA operand type represents the operand's elements exactly, so that they
  /// need no split.
  bool isWhole(unsigned operand) { return !staged.isF32() || !graph::getElementType(op->getOperand(operand)).isF32(); }
  /// Returns the accumulator type of the contraction.
  Type sumType() { return isa<IntegerType>(staged) ? Type(b.getI32Type()) : b.getF32Type(); }
  bool corrects() { return splits() && !(isWhole(0) && isWhole(1)); }

  int64_t steps() const { return tile.sliceBytes() / GpuOperand::kStepBytes; }

  //===----------------------------------------------------------------------------------------===//
  // Tiles
  //===----------------------------------------------------------------------------------------===//

  DimExpr slicesOfSum() { return depth.ceilDiv(left.depth()); }
  Dims counts() { return {batch, DimExpr(tiles.parts), columns.ceilDiv(tile.columns), rows.ceilDiv(tile.rows)}; }

  /// The K-slices [first, end) that a tile multiplies.
  struct Slices {
    Index first, end;
  };
  Slices beginTile(Index item) {
    SmallVector<Index> at = e.unravel(item, counts());
    set(tiles.batch, at[0]);
    batchNumber = at[0];
    part = at[1];
    firstColumn = e.mul(at[2], e.constant(tile.columns));
    firstRow = e.mul(at[3], e.constant(tile.rows));
    DimExpr ofPart = slicesOfSum().ceilDiv(tiles.parts);
    Index all = e.expression(slicesOfSum()), first = e.min(e.mul(part, e.expression(ofPart)), all);
    Index end = tiles.parts > 1 ? e.min(e.add(first, e.expression(ofPart)), all) : all;
    left.begin(firstRow, end);
    right.begin(firstColumn, end);
    return {first, end};
  }

  //===----------------------------------------------------------------------------------------===//
  // Multiply-accumulate
  //===----------------------------------------------------------------------------------------===//

  Tf32Split::Fragment fragment(ArrayRef<Value> words, bool whole) {
    if (whole)
      return Tf32Split::whole(words);
    auto number = [&](Value word) -> Value { return arith::BitcastOp::create(b, loc(), b.getF32Type(), word); };
    return factors.fragment(llvm::map_to_vector(words, number));
  }

  /// Returns this lane's accumulators of the fragment whose values begin at index `at` of the
  /// loop-carried values.
  Tf32Split::Sum sumAt(ArrayRef<Value> all, size_t at) {
    Tf32Split::Sum sum{SmallVector<Value>(all.slice(at, 4)), {}};
    if (corrects())
      sum.corrections.assign(all.begin() + sums() + at, all.begin() + sums() + at + 4);
    return sum;
  }

  /// Emits the warp-level MMAs for the slice in `buffer`. Returns the accumulators, followed by the
  /// accumulators of the corrections (see Tf32Split.h).
  SmallVector<Value> products(SmallVector<Value> all, Index buffer) {
    for (int64_t step = 0; step < steps(); ++step) {
      std::vector<Tf32Split::Fragment> lefts, rights;
      for (int64_t i = 0; i < fragmentsHigh(); ++i)
        lefts.push_back(fragment(left.left(buffer, warpRow, i * kFragmentRows, step), isWhole(0)));
      for (int64_t j = 0; j < fragmentsWide(); j += 2) {
        SmallVector<Value> words = right.right(buffer, warpColumn, j * kFragmentColumns, step);
        rights.push_back(fragment(ArrayRef(words).take_front(2), isWhole(1)));
        rights.push_back(fragment(ArrayRef(words).drop_front(2), isWhole(1)));
      }
      for (int64_t i = 0; i < fragmentsHigh(); ++i)
        for (int64_t j = 0; j < fragmentsWide(); ++j) {
          size_t at = size_t(i * fragmentsWide() + j) * 4;
          Tf32Split::Sum sum = sumAt(all, at);
          if (isa<IntegerType>(staged))
            sum.main = gpu.product(staged, plan::stagedType(op, 1), lefts[i].high, rights[j].high, sum.main);
          else if (!corrects())
            factors.multiply(sum, lefts[i], rights[j], staged);
          else {
            Tf32Split::Sum part{SmallVector<Value>(4, e.constantElement(sumType(), 0)), sum.corrections};
            factors.multiply(part, lefts[i], rights[j], staged);
            factors.add(sum.main, part.main);
            llvm::copy(part.corrections, all.begin() + sums() + at);
          }
          llvm::copy(sum.main, all.begin() + at);
        }
    }
    return all;
  }

  /// Returns the TF32 components of this warp's rows of the left slice in `buffer`: one fragment
  /// per step along K.
  std::vector<Tf32Split::Fragment> leftFactors(Index buffer) {
    std::vector<Tf32Split::Fragment> list;
    for (int64_t step = 0; step < steps(); ++step)
      list.push_back(fragment(left.left(buffer, warpRow, 0, step), isWhole(0)));
    return list;
  }

  /// Emits the warpgroup MMAs for one TF32-split slice, waits for them, and returns the
  /// accumulators, followed by those of the corrections. The accumulators of hi * hi start at zero
  /// for each slice (see Tf32Split.h), for one group of columns after another, as the registers
  /// allow. While the first two groups are added to the results, the MMAs of the corrections run.
  /// They are not delayed to later groups, because the left operand's lo components would then
  /// occupy registers for longer.
  SmallVector<Value> splitProducts(ArrayRef<Value> all, ArrayRef<Tf32Split::Fragment> lefts, Index buffer) {
    SmallVector<Value> main(all.take_front(sums())), corrections(all.drop_front(sums()));
    int64_t columns = tile.columns > 64 ? 32 : tile.columns, parts = tile.columns / columns;
    int64_t beside = std::min<int64_t>(parts, 2);
    auto each = sums() / size_t(parts);
    auto add = [&](SmallVector<Value> &to, ArrayRef<Value> factors, int64_t column, int64_t step, bool second) {
      to = gpu.groupProduct(staged, factors, right.matrix(buffer, e.constant(column), step, second), to);
    };
    for (int64_t number = 0; number < parts; ++number) {
      SmallVector<Value> part(each, e.constantElement(sumType(), 0));
      gpu.beginGroup();
      for (int64_t step = 0; step < steps(); ++step)
        add(part, lefts[step].high, number * columns, step, false);
      gpu.closeGroup();
      for (int64_t step = number * steps() / beside; step < std::min((number + 1) * steps() / beside, steps());
           ++step) {
        add(corrections, lefts[step].low, 0, step, false);
        add(corrections, lefts[step].high, 0, step, true);
      }
      gpu.closeGroup();
      part = gpu.waitForGroup(1, part);
      factors.add(MutableArrayRef(main).slice(size_t(number) * each, each), part);
    }
    llvm::append_range(main, gpu.waitForGroup(0, corrections));
    return main;
  }

  /// Starts the warpgroup MMAs for the slice in `buffer` and returns the accumulators, which are
  /// not valid until the caller has waited for the MMAs.
  SmallVector<Value> groupProducts(SmallVector<Value> sums, Index buffer) {
    // The first row of a warpgroup is the first row of its first warp.
    Index groupRow = e.mul(e.floorDiv(warpRow, e.constant(plan::kGroupRows)), e.constant(plan::kGroupRows));
    gpu.beginGroup();
    for (int64_t step = 0; step < steps(); ++step)
      sums = gpu.groupProduct(staged, plan::stagedType(op, 1), left.matrix(buffer, groupRow, step),
                              right.matrix(buffer, e.constant(0), step), sums);
    gpu.closeGroup();
    return sums;
  }

  /// Starts the copies of both operands' slice. Returns the elements of operands that are computed
  /// rather than copied, for `put`.
  std::array<SmallVector<Value>, 2> bring(Index slice, Index buffer) {
    e.forget();
    std::array<SmallVector<Value>, 2> computed = {left.bring(slice, buffer), right.bring(slice, buffer)};
    gpu.closeCopies();
    return computed;
  }

  void put(const std::array<SmallVector<Value>, 2> &computed, Index buffer) {
    left.put(computed[0], buffer);
    right.put(computed[1], buffer);
  }

  SmallVector<Value> zeros() {
    return SmallVector<Value>((corrects() ? 2 : 1) * sums(), e.constantElement(sumType(), 0));
  }

  /// Emits the loop over the K-slices and returns the tile's accumulators.
  SmallVector<Value> multiply(Slices slices) {
    Index zero = e.constant(0), one = e.constant(1), ahead = e.constant(tile.buffers - 1);
    for (int64_t slice = 0; slice + 1 < tile.buffers; ++slice)
      put(bring(e.add(slices.first, e.constant(slice)), e.constant(slice)), e.constant(slice));
    SmallVector<Value> start = zeros();
    start.push_back(zero.base);
    auto loop = scf::ForOp::create(b, loc(), slices.first.base, slices.end.base, one.base, start);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Index slice{loop.getInductionVar()}, buffer{loop.getRegionIterArgs().back()};
      gpu.waitForCopies(tile.buffers - 2);
      if (tile.byGroups)
        gpu.publishToGroups();
      gpu.barrier();
      SmallVector<Value> all(loop.getRegionIterArgs().drop_back());
      if (tile.byGroups)
        all = groupProducts(all, buffer);
      Value isFirst = e.compare(arith::CmpIPredicate::eq, buffer, zero);
      Index last = e.select(isFirst, ahead, e.sub(buffer, one));
      Value wraps = e.compare(arith::CmpIPredicate::eq, buffer, ahead);
      auto computed = bring(e.add(slice, ahead), last);
      all = tile.byGroups ? gpu.waitForGroup(0, all) : products(all, buffer);
      put(computed, last);
      all.push_back(e.select(wraps, zero, e.add(buffer, one)).base);
      scf::YieldOp::create(b, loc(), all);
      e.forget();
    }
    // Emit a barrier, because the K-slices of the next tile must not overwrite the buffers before
    // all threads have read them.
    gpu.waitForCopies(0);
    gpu.barrier();
    return llvm::map_to_vector(loop.getResults().drop_back(), [](OpResult r) { return Value(r); });
  }

  //===----------------------------------------------------------------------------------------===//
  // TMA pipeline
  //===----------------------------------------------------------------------------------------===//

  /// Emits the loops over the block's tiles and their slices; producer and consumers run identical
  /// loops. Emits `body` for each slice, with the index of its pipeline stage. Emits `end` after
  /// each tile, with the values that `body` carried from slice to slice.
  void overStages(ArrayRef<Value> start,
                  llvm::function_ref<SmallVector<Value>(Index slice, Index stage, ValueRange)> body,
                  llvm::function_ref<void(ArrayRef<Value>)> end) {
    Value none = e.constant(0).base;
    gpu.overBlocks(graph::numElements(counts()), blocks, none, [&](Index item, ValueRange done) -> SmallVector<Value> {
      Slices slices = beginTile(item);
      SmallVector<Value> carried(start);
      carried.push_back(done[0]);
      auto loop = scf::ForOp::create(b, loc(), slices.first.base, slices.end.base, e.constant(1).base, carried);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        e.forget();
        Index stage{loop.getRegionIterArgs().back()};
        SmallVector<Value> next = body({loop.getInductionVar()}, stage, loop.getRegionIterArgs().drop_back());
        next.push_back(e.add(stage, e.constant(1)).base);
        scf::YieldOp::create(b, loc(), next);
        e.forget();
      }
      SmallVector<Value> results = llvm::map_to_vector(loop.getResults(), [](OpResult r) { return Value(r); });
      Value turns = results.pop_back_val();
      end(results);
      return {turns};
    });
  }

  void runFetching(Index lane) {
    // Registers per thread after reallocation: of the producer's warpgroup, and of the consumers.
    const int64_t forFetching = tile.makesFactors ? 56 : 40, forProducts = tile.makesFactors ? 224 : 232;
    int64_t makers = tile.makesFactors ? plan::kGroupWarps - 1 : 0;
    MbarrierPipeline mbarriers(gpu, e, tile.buffers, tile.warps(), makers);
    bool divides = tile.warps() > plan::kGroupWarps;
    Index others = e.constant(tile.warps() * gpu.warp);
    auto branch = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::slt, {gpu.thread}, others),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    if (divides)
      gpu.takeRegisters(forProducts);
    Value isElected = e.compare(arith::CmpIPredicate::eq, lane, e.constant(0));
    overStages(
        zeros(),
        [&](Index, Index stage, ValueRange sums) {
          MbarrierPipeline::Stage at = mbarriers.stage(stage);
          mbarriers.waitUntilFull(at);
          SmallVector<Value> all;
          if (tile.makesFactors) {
            std::vector<Tf32Split::Fragment> lefts = leftFactors(at.buffer);
            mbarriers.waitUntilMade(at);
            all = splitProducts(SmallVector<Value>(sums), lefts, at.buffer);
          } else {
            all = gpu.waitForGroup(0, groupProducts(SmallVector<Value>(sums), at.buffer));
          }
          auto ifElected = scf::IfOp::create(b, loc(), isElected, /*withElseRegion=*/false);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(ifElected.thenBlock()->getTerminator());
          mbarriers.hasRead(at);
          return all;
        },
        [&](ArrayRef<Value> sums) { finish(sums); });

    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    e.forget();
    if (divides)
      gpu.keepRegisters(forFetching);
    auto one = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::eq, {gpu.thread}, others),
                                 /*withElseRegion=*/false);
    b.setInsertionPoint(one.thenBlock()->getTerminator());
    overStages(
        {},
        [&](Index slice, Index stage, ValueRange) -> SmallVector<Value> {
          MbarrierPipeline::Stage at = mbarriers.stage(stage);
          mbarriers.beginFilling(at, left.slice() + right.slice());
          left.fetch(slice, at.buffer, batchNumber, at.full);
          right.fetch(slice, at.buffer, batchNumber, at.full);
          return {};
        },
        [](ArrayRef<Value>) {});
    e.forget();
    if (makers > 0) {
      b.setInsertionPointAfter(one);
      splitFetched(mbarriers, others, makers, lane);
    }
  }

  /// Emits the code of the producer warpgroup's other warps, which split the right operand into
  /// TF32 components.
  void splitFetched(MbarrierPipeline &mbarriers, Index others, int64_t makers, Index lane) {
    Index worker = e.sub({gpu.thread}, e.add(others, e.constant(gpu.warp)));
    auto has = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::sge, worker, e.constant(0)),
                                 /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(has.thenBlock()->getTerminator());
    Value isElected = e.compare(arith::CmpIPredicate::eq, lane, e.constant(0));
    overStages(
        {},
        [&](Index, Index stage, ValueRange) -> SmallVector<Value> {
          MbarrierPipeline::Stage at = mbarriers.stage(stage);
          mbarriers.waitUntilFull(at);
          right.split(factors, at.buffer, worker, makers * gpu.warp);
          gpu.publishToGroups();
          gpu.warpBarrier();
          auto ifElected = scf::IfOp::create(b, loc(), isElected, /*withElseRegion=*/false);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(ifElected.thenBlock()->getTerminator());
          mbarriers.hasMade(at);
          return {};
        },
        [](ArrayRef<Value>) {});
    e.forget();
  }

  //===----------------------------------------------------------------------------------------===//
  // Epilogue
  //===----------------------------------------------------------------------------------------===//

  /// Emits the epilogue. A lane has the accumulators of two neighbouring columns in each of two
  /// rows of a fragment. If wider vectors can be stored, the four lanes that share a row transpose
  /// the accumulators of four fragments, so that each lane has all eight columns of one fragment.
  void finish(ArrayRef<Value> all) {
    // Limit of the bytes that a lane loads at once in the epilogue. It is smaller if threads also
    // stage the operands, because the addresses for that occupy registers.
    const int64_t mostBytes = tile.fetches ? 256 : 64;
    int64_t quad = kFragmentColumns / 2;
    Neighbours found = neighbours(fragmentsWide() % quad == 0 ? kFragmentColumns : 2);
    if (found.count == 1)
      return finishOneByOne(all);
    int64_t fragments = found.count / 2;
    int64_t elements = mostBytes / std::max<int64_t>(found.bytesRead, 1);
    int64_t step = std::max<int64_t>(elements / (4 * fragments), 1) * fragments;
    // If the main loop leaves registers free, issue the first loads of the epilogue before the loop
    // ends.
    bool areEarly = tile.fetches && !corrects() && found.readsAsMuch;
    Operation *before = areEarly ? all.front().getDefiningOp() : nullptr;
    for (int64_t i = 0; i < fragmentsHigh(); ++i)
      for (int64_t j = 0; j < fragmentsWide(); j += step)
        finishTogether(all, i, j, std::min(j + step, fragmentsWide()), found, std::exchange(before, nullptr));
  }

  /// Emits the epilogue for the fragments [first, end) in row i of the warp's fragments.
  void finishTogether(ArrayRef<Value> all, int64_t i, int64_t first, int64_t end, const Neighbours &found,
                      Operation *before) {
    // number of fragments among which the lanes exchange accumulators
    int64_t each = found.count / 2;
    SmallVector<SmallVector<Value>> fours;
    SmallVector<Place> places;
    for (int64_t j = first; j < end; ++j)
      fours.push_back(factors.finish(sumAt(all, size_t(i * fragmentsWide() + j) * 4)));
    for (int64_t j = first; j < end; j += each)
      for (int64_t r = 0; r < 2; ++r) {
        Index column = e.add(e.add(firstColumn, warpColumn), e.mul(inGroup, e.constant(found.count)));
        places.push_back({rowOf(i, r), e.add(column, e.constant(j * kFragmentColumns))});
      }
    Whole whole{wholeTiles(rows, tile.rows), wholeTiles(columns, tile.columns)};
    auto sumsAt = [&](size_t place) -> Value {
      ArrayRef<SmallVector<Value>> own = ArrayRef(fours).slice(place / 2 * size_t(each), size_t(each));
      SmallVector<Value> sums(size_t(found.count));
      for (size_t side = 0; side < 2; ++side) {
        auto column = llvm::map_to_vector(own, [&](ArrayRef<Value> four) { return four[place % 2 * 2 + side]; });
        if (each > 1)
          gpu.transposeQuads(column);
        for (auto [pair, sum] : llvm::enumerate(column))
          sums[2 * pair + side] = sum;
      }
      return vector::FromElementsOp::create(b, loc(), VectorType::get({found.count}, sumType()), sums);
    };
    storeNeighbours(places, found, whole, sumsAt, before);
  }

  void finishOneByOne(ArrayRef<Value> all) {
    for (int64_t i = 0; i < fragmentsHigh(); ++i)
      for (int64_t j = 0; j < fragmentsWide(); ++j) {
        SmallVector<Value> four = factors.finish(sumAt(all, size_t(i * fragmentsWide() + j) * 4));
        Index inTile = e.add(e.add(warpColumn, e.mul(inGroup, e.constant(2))), e.constant(j * kFragmentColumns));
        Index column = e.add(firstColumn, inTile);
        for (int64_t r = 0; r < 2; ++r)
          for (int64_t side = 0; side < 2; ++side)
            store(four[size_t(r * 2 + side)], rowOf(i, r), e.add(column, e.constant(side)));
      }
  }

  /// Returns the row index of this lane's row `r` (0 or 1) in row i of the warp's fragments.
  Index rowOf(int64_t i, int64_t r) {
    return e.add(firstRow, e.add(e.add(warpRow, group), e.constant(i * kFragmentRows + r * 8)));
  }

  static bool wholeTiles(const DimExpr &extent, int64_t size) {
    return extent.constant() && *extent.constant() % size == 0;
  }
};

/// Verifies that the schedule applies to the contraction; emits an error on the kernel if not.
/// `fetchable` is true if TMA can load both operands.
LogicalResult verifyMatrix(KernelContext &k, const GpuTiles &tiles, plan::GpuContractAttr schedule, bool fetchable) {
  constexpr int64_t side = 32, mostOfGroup = 256;
  graph::ContractOpInterface op = tiles.op;
  plan::GpuAttr machine = plan::gpuOf(k.kernel);
  plan::GpuTile tile = plan::tileOf(schedule, op);
  if (!plan::multipliesMatrices(op))
    return refuse(k, schedule) << ", but the target has no matrix instruction for the contraction";
  bool areWhole =
      tile.rows % (tile.warpsHigh * kFragmentRows) == 0 && tile.columns % (tile.warpsWide * 2 * kFragmentColumns) == 0;
  if (tile.rows % side != 0 || tile.columns % side != 0 || !areWhole)
    return refuse(k, schedule) << ", but m and n must be multiples of " << side << ", and of " << kFragmentRows
                               << " per warp";
  if (tile.byGroups && (!plan::multipliesByGroups(op) || tile.rows % plan::kGroupRows != 0 || tile.warpsWide != 1 ||
                        tile.warpsHigh != tile.rows / plan::kGroupRows * plan::kGroupWarps ||
                        std::max(tile.rows, tile.columns) > mostOfGroup))
    return refuse(k, schedule) << ", but a warpgroup of " << plan::kGroupWarps << " warps multiplies "
                               << plan::kGroupRows << " rows by all columns, with m and n at most " << mostOfGroup
                               << ", and the target must have warpgroup MMA";
  if (tile.byGroups && plan::mustBeFetched(op) && !tile.fetches)
    return refuse(k, schedule) << ", but warpgroup MMA on its operands requires TMA loads";
  if (tile.fetches && !fetchable)
    return refuse(k, schedule) << ", but its operands cannot be loaded by TMA";
  int64_t sums = tile.rows * tile.columns / (tile.warps() * machine.getWarpSize()) * (plan::productsOf(op) > 1 ? 2 : 1);
  if (sums > machine.getLimits().getMaxThreadRegisters())
    return refuse(k, schedule) << ", but a thread needs " << sums << " accumulators and has "
                               << machine.getLimits().getMaxThreadRegisters() << " registers";
  return success();
}

} // namespace

LogicalResult emitGpuMatrix(KernelContext &k, OpBuilder &b, const GpuTiles &tiles, plan::GpuContractAttr schedule) {
  OrReason<std::pair<TmaOperand, TmaOperand>> boxes = gpuBoxes(k, tiles);
  if (failed(verifyMatrix(k, tiles, schedule, bool(boxes))))
    return failure();
  GpuMatrixEmitter emitter(k, b, tiles, plan::tileOf(schedule, tiles.op), schedule.getBlocks());
  if (schedule.getFetches())
    emitter.fetchFrom(boxes->first, boxes->second);
  emitter.run();
  return success();
}

} // namespace hewn::codegen
