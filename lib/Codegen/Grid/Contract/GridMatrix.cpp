// SPDX-License-Identifier: Apache-2.0
//
// Contractions of floats by the matrix instruction of a warp (Grid::product).
//
// Narrow floats are its factors as they are, float32s are split (GridFactors.h): errors stay at what float32's own sums leave. (Of
// numbers below 2^-115 the second factor is a denormal, which has less bits: what is lost there is below 2^-138.) Numbers that
// come from narrower types, or where the user allows it, take one product.
//
// A block makes a tile. While its warps multiply one slice of the operands from shared memory, the next ones are on their way:
// a ring of buffers, one barrier a slice.
//
//     bring slices 0, ..., buffers - 2
//     for slice:  wait for its copies;  barrier;  bring slice + buffers - 1, to where slice - 1 was;  multiply slice
//
// Where groups of warps multiply, they do so from shared memory, while their threads bring the next slice:
//
//     for slice:  wait for its copies;  publish;  barrier;  multiply slice;  bring as above;  wait for the products
//
// Where both operands can be fetched, a group of its own does nothing else, also while the others finish a tile, and two mbarriers a
// buffer are all that they wait at (GridMbarriers.h):
//
//     one thread:  for tile: for slice:  wait until the buffer is empty;  have it filled
//     the others:  for tile: for slice:  wait until it is full;  multiply slice;  wait for the products;  say so
//
// Where float32s are split, the other warps of that group make the right operand's two factors, in shared memory, where groups
// must have them; of the left one each warp makes its own, in registers, from which the instruction takes them as well:
//
//     other warps:  for tile: for slice:  wait until it is full;  split the right operand's;  say so
//     the others:   for tile: for slice:  wait until it is full;  split the left one's;  wait for the right one's;  multiply, ...
//
// Why there: docs/decisions/kernels/factors-by-groups.md.
#include "lib/Codegen/Grid/Contract/GridContractEngine.h"
#include "lib/Codegen/Grid/Contract/GridFactors.h"
#include "lib/Codegen/Grid/Contract/GridMbarriers.h"
#include "lib/Codegen/Grid/Contract/GridOperand.h"
#include "lib/Schedule/GridSchedule.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <array>

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

/// Rows and columns of one instruction's result; operands come for two such columns.
constexpr int64_t kFragmentRows = 16, kFragmentColumns = 8;

class GridMatrixEmitter : GridContraction {
public:
  /// `blocks`: which fetch, at most.
  GridMatrixEmitter(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, const plan::GridTile &tile, int64_t blocks)
      : GridContraction(k, b, tiles, plan::threadsOf(tile, plan::gridOf(k.kernel))), tile(tile), blocks(blocks),
        staged(plan::stagedType(op)), factors(b, k.loc(), grid, splits()), left(*this, 0, staged, tile.rows, tile),
        right(*this, 1, plan::stagedType(op, 1), tile.columns, tile) {}

  void run() {
    // Sums, where there are corrections these too and parts, and beside them fragments, addresses, and what is on its way.
    constexpr int64_t others = 56, splitOthers = 88;
    grid.wantRegisters(corrects() ? 3 * int64_t(sums()) + splitOthers : int64_t(sums()) + others);
    Index warps = e.constant(tile.warpsHigh), size = e.constant(grid.warp), four = e.constant(4);
    Index warp = e.floorDiv({grid.thread}, size), lane = e.mod({grid.thread}, size);
    group = e.floorDiv(lane, four);
    inGroup = e.mod(lane, four);
    warpRow = e.mul(e.mod(warp, warps), e.constant(tile.warpRows()));
    warpColumn = e.mul(e.floorDiv(warp, warps), e.constant(tile.warpColumns()));

    if (tile.fetches)
      return runFetching(lane);
    grid.overBlocks(graph::numElements(counts()), [&](Index item) {
      Slices slices = beginTile(item);
      finish(multiply(slices));
    });
  }

  void fetchFrom(const GridBox &leftBox, const GridBox &rightBox) {
    left.fetchFrom(leftBox);
    right.fetchFrom(rightBox);
  }

private:
  const plan::GridTile tile;
  const int64_t blocks;
  Type staged;
  GridFactors factors;
  GridOperand left, right;
  Index group, inGroup, warpRow, warpColumn, firstRow, firstColumn, batchNumber;

  int64_t fragmentsHigh() const { return tile.warpRows() / kFragmentRows; }
  int64_t fragmentsWide() const { return tile.warpColumns() / kFragmentColumns; }
  size_t sums() const { return size_t(fragmentsHigh() * fragmentsWide() * 4); }
  /// Whether float32s are sums of two factors.
  bool splits() const { return plan::gridOf(k.kernel).getMmasPerProduct() > 1; }
  /// Whether an operand's numbers are factors.
  bool isWhole(unsigned operand) { return !staged.isF32() || !graph::getElementType(op->getOperand(operand)).isF32(); }
  /// What sums are of.
  Type sumType() { return isa<IntegerType>(staged) ? Type(b.getI32Type()) : b.getF32Type(); }
  bool corrects() { return splits() && !(isWhole(0) && isWhole(1)); }

  int64_t steps() const { return tile.sliceBytes() / GridOperand::kStepBytes; }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Tiles
  //===----------------------------------------------------------------------------------------------------------------===//

  DimExpr slicesOfSum() { return depth.ceilDiv(left.depth()); }
  Dims counts() { return {batch, DimExpr(tiles.parts), columns.ceilDiv(tile.columns), rows.ceilDiv(tile.rows)}; }

  /// Slices [first, end) of the sum.
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

  //===----------------------------------------------------------------------------------------------------------------===//
  // Products
  //===----------------------------------------------------------------------------------------------------------------===//

  GridFactors::Fragment fragment(ArrayRef<Value> words, bool whole) {
    if (whole)
      return GridFactors::whole(words);
    auto number = [&](Value word) -> Value { return arith::BitcastOp::create(b, loc(), b.getF32Type(), word); };
    return factors.fragment(llvm::map_to_vector(words, number));
  }

  /// A lane's sums of a fragment, which begin at `at`, as they are carried through the loop.
  GridFactors::Sum sumAt(ArrayRef<Value> all, size_t at) {
    GridFactors::Sum sum{SmallVector<Value>(all.slice(at, 4)), {}};
    if (corrects())
      sum.corrections.assign(all.begin() + sums() + at, all.begin() + sums() + at + 4);
    return sum;
  }

  /// The accumulators, then those of the corrections, after one slice from `buffer`.
  SmallVector<Value> products(SmallVector<Value> all, Index buffer) {
    for (int64_t step = 0; step < steps(); ++step) {
      std::vector<GridFactors::Fragment> lefts, rights;
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
          GridFactors::Sum sum = sumAt(all, at);
          if (isa<IntegerType>(staged))
            sum.main = grid.product(staged, plan::stagedType(op, 1), lefts[i].high, rights[j].high, sum.main);
          else if (!corrects())
            factors.multiply(sum, lefts[i], rights[j], staged);
          else {
            GridFactors::Sum part{SmallVector<Value>(4, e.constantElement(sumType(), 0)), sum.corrections};
            factors.multiply(part, lefts[i], rights[j], staged);
            factors.add(sum.main, part.main);
            llvm::copy(part.corrections, all.begin() + sums() + at);
          }
          llvm::copy(sum.main, all.begin() + at);
        }
    }
    return all;
  }

  /// This warp's rows of a slice as factors, a step each.
  std::vector<GridFactors::Fragment> leftFactors(Index buffer) {
    std::vector<GridFactors::Fragment> list;
    for (int64_t step = 0; step < steps(); ++step)
      list.push_back(fragment(left.left(buffer, warpRow, 0, step), isWhole(0)));
    return list;
  }

  /// The sums, then the corrections, after the products of one slice's factors; waited for. The largest products have sums of this
  /// slice alone (GridFactors.h says why), of as many columns at a time as there are registers for. The others are under way while the
  /// first two of these parts are added: later ones need the registers of the left one's second factors.
  SmallVector<Value> splitProducts(ArrayRef<Value> all, ArrayRef<GridFactors::Fragment> lefts, Index buffer) {
    SmallVector<Value> main(all.take_front(sums())), corrections(all.drop_front(sums()));
    int64_t columns = tile.columns > 64 ? 32 : tile.columns, parts = tile.columns / columns;
    int64_t beside = std::min<int64_t>(parts, 2);
    auto each = sums() / size_t(parts);
    auto add = [&](SmallVector<Value> &to, ArrayRef<Value> factors, int64_t column, int64_t step, bool second) {
      to = grid.groupProduct(staged, factors, right.matrix(buffer, e.constant(column), step, second), to);
    };
    for (int64_t number = 0; number < parts; ++number) {
      SmallVector<Value> part(each, e.constantElement(sumType(), 0));
      grid.beginGroup();
      for (int64_t step = 0; step < steps(); ++step)
        add(part, lefts[step].high, number * columns, step, false);
      grid.closeGroup();
      for (int64_t step = number * steps() / beside; step < std::min((number + 1) * steps() / beside, steps());
           ++step) {
        add(corrections, lefts[step].low, 0, step, false);
        add(corrections, lefts[step].high, 0, step, true);
      }
      grid.closeGroup();
      part = grid.waitForGroup(1, part);
      factors.add(MutableArrayRef(main).slice(size_t(number) * each, each), part);
    }
    llvm::append_range(main, grid.waitForGroup(0, corrections));
    return main;
  }

  /// The same by groups of warps; under way.
  SmallVector<Value> groupProducts(SmallVector<Value> sums, Index buffer) {
    // Of the group's first row: that of its first warp.
    Index groupRow = e.mul(e.floorDiv(warpRow, e.constant(plan::kGroupRows)), e.constant(plan::kGroupRows));
    grid.beginGroup();
    for (int64_t step = 0; step < steps(); ++step)
      sums = grid.groupProduct(staged, plan::stagedType(op, 1), left.matrix(buffer, groupRow, step),
                               right.matrix(buffer, e.constant(0), step), sums);
    grid.closeGroup();
    return sums;
  }

  /// Sends a slice on its way. Returns what is computed instead of copied.
  std::array<SmallVector<Value>, 2> bring(Index slice, Index buffer) {
    e.forget();
    std::array<SmallVector<Value>, 2> computed = {left.bring(slice, buffer), right.bring(slice, buffer)};
    grid.closeCopies();
    return computed;
  }

  void put(const std::array<SmallVector<Value>, 2> &computed, Index buffer) {
    left.put(computed[0], buffer);
    right.put(computed[1], buffer);
  }

  SmallVector<Value> zeros() {
    return SmallVector<Value>((corrects() ? 2 : 1) * sums(), e.constantElement(sumType(), 0));
  }

  /// The tile's sums over its slices.
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
      grid.waitForCopies(tile.buffers - 2);
      if (tile.byGroups)
        grid.publishToGroups();
      grid.barrier();
      SmallVector<Value> all(loop.getRegionIterArgs().drop_back());
      if (tile.byGroups)
        all = groupProducts(all, buffer);
      Value isFirst = e.compare(arith::CmpIPredicate::eq, buffer, zero);
      Index last = e.select(isFirst, ahead, e.sub(buffer, one));
      Value wraps = e.compare(arith::CmpIPredicate::eq, buffer, ahead);
      auto computed = bring(e.add(slice, ahead), last);
      all = tile.byGroups ? grid.waitForGroup(0, all) : products(all, buffer);
      put(computed, last);
      all.push_back(e.select(wraps, zero, e.add(buffer, one)).base);
      scf::YieldOp::create(b, loc(), all);
      e.forget();
    }
    // Before the next tile's slices come.
    grid.waitForCopies(0);
    grid.barrier();
    return llvm::map_to_vector(loop.getResults().drop_back(), [](OpResult r) { return Value(r); });
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Fetched slices
  //===----------------------------------------------------------------------------------------------------------------===//

  /// `body` for each slice of each of the block's tiles, with the number of its stage; `end` of a tile, with what the body carried
  /// from slice to slice. Both sides go over the same.
  void overStages(ArrayRef<Value> start,
                  llvm::function_ref<SmallVector<Value>(Index slice, Index stage, ValueRange)> body,
                  llvm::function_ref<void(ArrayRef<Value>)> end) {
    Value none = e.constant(0).base;
    grid.overBlocks(graph::numElements(counts()), blocks, none, [&](Index item, ValueRange done) -> SmallVector<Value> {
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
    // Of the threads of a block, when its registers are divided anew.
    const int64_t forFetching = tile.makesFactors ? 56 : 40, forProducts = tile.makesFactors ? 224 : 232;
    int64_t makers = tile.makesFactors ? plan::kGroupWarps - 1 : 0;
    GridMbarriers mbarriers(grid, e, tile.buffers, tile.warps(), makers);
    bool divides = tile.warps() > plan::kGroupWarps;
    Index others = e.constant(tile.warps() * grid.warp);
    auto branch = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::slt, {grid.thread}, others),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    if (divides)
      grid.takeRegisters(forProducts);
    Value isElected = e.compare(arith::CmpIPredicate::eq, lane, e.constant(0));
    overStages(
        zeros(),
        [&](Index, Index stage, ValueRange sums) {
          GridMbarriers::Stage at = mbarriers.stage(stage);
          mbarriers.waitUntilFull(at);
          SmallVector<Value> all;
          if (tile.makesFactors) {
            std::vector<GridFactors::Fragment> lefts = leftFactors(at.buffer);
            mbarriers.waitUntilMade(at);
            all = splitProducts(SmallVector<Value>(sums), lefts, at.buffer);
          } else {
            all = grid.waitForGroup(0, groupProducts(SmallVector<Value>(sums), at.buffer));
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
      grid.keepRegisters(forFetching);
    auto one = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::eq, {grid.thread}, others),
                                 /*withElseRegion=*/false);
    b.setInsertionPoint(one.thenBlock()->getTerminator());
    overStages(
        {},
        [&](Index slice, Index stage, ValueRange) -> SmallVector<Value> {
          GridMbarriers::Stage at = mbarriers.stage(stage);
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

  /// What those warps of the last group do that fetch nothing.
  void splitFetched(GridMbarriers &mbarriers, Index others, int64_t makers, Index lane) {
    Index worker = e.sub({grid.thread}, e.add(others, e.constant(grid.warp)));
    auto has = scf::IfOp::create(b, loc(), e.compare(arith::CmpIPredicate::sge, worker, e.constant(0)),
                                 /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(has.thenBlock()->getTerminator());
    Value isElected = e.compare(arith::CmpIPredicate::eq, lane, e.constant(0));
    overStages(
        {},
        [&](Index, Index stage, ValueRange) -> SmallVector<Value> {
          GridMbarriers::Stage at = mbarriers.stage(stage);
          mbarriers.waitUntilFull(at);
          right.split(factors, at.buffer, worker, makers * grid.warp);
          grid.publishToGroups();
          grid.warpBarrier();
          auto ifElected = scf::IfOp::create(b, loc(), isElected, /*withElseRegion=*/false);
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(ifElected.thenBlock()->getTerminator());
          mbarriers.hasMade(at);
          return {};
        },
        [](ArrayRef<Value>) {});
    e.forget();
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Finished sums
  //===----------------------------------------------------------------------------------------------------------------===//

  /// The sums to where the kernel wants them. A lane has two neighbours in each of two rows of a fragment; where more may be stored at
  /// once, the four lanes that have a row exchange theirs of four fragments, after which each has a fragment's eight columns.
  void finish(ArrayRef<Value> all) {
    // What a lane loads at once at most; where it brings operands too, their addresses are in registers.
    const int64_t mostBytes = tile.fetches ? 256 : 64;
    int64_t quad = kFragmentColumns / 2;
    Neighbours found = neighbours(fragmentsWide() % quad == 0 ? kFragmentColumns : 2);
    if (found.count == 1)
      return finishOneByOne(all);
    int64_t fragments = found.count / 2;
    int64_t elements = mostBytes / std::max<int64_t>(found.bytesRead, 1);
    int64_t step = std::max<int64_t>(elements / (4 * fragments), 1) * fragments;
    // Where the products leave registers, the first of what comes from memory is on its way while they are made.
    bool areEarly = tile.fetches && !corrects() && found.readsAsMuch;
    Operation *before = areEarly ? all.front().getDefiningOp() : nullptr;
    for (int64_t i = 0; i < fragmentsHigh(); ++i)
      for (int64_t j = 0; j < fragmentsWide(); j += step)
        finishTogether(all, i, j, std::min(j + step, fragmentsWide()), found, std::exchange(before, nullptr));
  }

  /// Fragments [first, end) of row i of them.
  void finishTogether(ArrayRef<Value> all, int64_t i, int64_t first, int64_t end, const Neighbours &found,
                      Operation *before) {
    int64_t each = found.count / 2; // of which lanes exchange sums
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
          grid.transposeQuads(column);
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

  /// Where row `r` of two is that a lane has of the warp's i-th fragments.
  Index rowOf(int64_t i, int64_t r) {
    return e.add(firstRow, e.add(e.add(warpRow, group), e.constant(i * kFragmentRows + r * 8)));
  }

  static bool wholeTiles(const DimExpr &extent, int64_t size) {
    return extent.constant() && *extent.constant() % size == 0;
  }
};

/// Whether code can be made by the schedule; `fetchable`: whether both operands are boxes. An error on the kernel otherwise.
LogicalResult verifyMatrix(KernelFunction &k, const GridTiles &tiles, plan::GridContractAttr schedule, bool fetchable) {
  constexpr int64_t side = 32, mostOfGroup = 256;
  graph::ContractOpInterface op = tiles.op;
  plan::GridAttr machine = plan::gridOf(k.kernel);
  plan::GridTile tile = plan::tileOf(schedule, op);
  if (!plan::multipliesMatrices(op))
    return refuse(k, schedule) << ", and is no contraction that the machine's matrix instructions multiply";
  bool areWhole =
      tile.rows % (tile.warpsHigh * kFragmentRows) == 0 && tile.columns % (tile.warpsWide * 2 * kFragmentColumns) == 0;
  if (tile.rows % side != 0 || tile.columns % side != 0 || !areWhole)
    return refuse(k, schedule) << ", of which m and n must be multiples of " << side << ", and of " << kFragmentRows
                               << " for each warp";
  if (tile.byGroups && (!plan::multipliesByGroups(op) || tile.rows % plan::kGroupRows != 0 || tile.warpsWide != 1 ||
                        tile.warpsHigh != tile.rows / plan::kGroupRows * plan::kGroupWarps ||
                        std::max(tile.rows, tile.columns) > mostOfGroup))
    return refuse(k, schedule) << ", and groups of " << plan::kGroupWarps << " warps multiply " << plan::kGroupRows
                               << " rows each by all columns, up to " << mostOfGroup
                               << ", where the machine has an instruction for that";
  if (tile.byGroups && plan::mustBeFetched(op) && !tile.fetches)
    return refuse(k, schedule) << ", and operands that groups can multiply where they are fetched alone";
  if (tile.fetches && !fetchable)
    return refuse(k, schedule) << ", and operands of which no boxes can be fetched";
  int64_t sums = tile.rows * tile.columns / (tile.warps() * machine.getWarpSize()) * (plan::productsOf(op) > 1 ? 2 : 1);
  if (sums > machine.getLimits().getMaxThreadRegisters())
    return refuse(k, schedule) << ", and " << sums << " sums of a thread, which has "
                               << machine.getLimits().getMaxThreadRegisters() << " registers";
  return success();
}

} // namespace

LogicalResult emitGridMatrix(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, plan::GridContractAttr schedule) {
  Found<std::pair<GridBox, GridBox>> boxes = gridBoxes(k, tiles);
  if (failed(verifyMatrix(k, tiles, schedule, bool(boxes))))
    return failure();
  GridMatrixEmitter emitter(k, b, tiles, plan::tileOf(schedule, tiles.op), schedule.getBlocks());
  if (schedule.getFetches())
    emitter.fetchFrom(boxes->first, boxes->second);
  emitter.run();
  return success();
}

} // namespace hewn::codegen
