// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/VectorSums.h"
#include "lib/Codegen/Contract/Sums/DequantizingMma.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-lower-kernels"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

using Sums = SmallVector<Value>;

//===------------------------------------------------------------------------------------------------------------------===//
// Loads of an iteration
//===------------------------------------------------------------------------------------------------------------------===//

/// A software prefetch of the next panel, or of the next tile's rows. Iteration i of the innermost
/// loop prefetches the elements from `first` + i * `step` on, counted from the tile's own first
/// column or row.
struct Ahead {
  Index first;
  int64_t step;
  /// Number of bytes that an iteration prefetches, and size of a cache line in bytes.
  int64_t stepBytes, lineBytes;
  /// Returns true if iteration `i` of an unrolled loop prefetches another cache line than iteration
  /// `i - 1`.
  bool startsLine(int64_t i) const { return i == 0 || i * stepBytes / lineBytes != (i - 1) * stepBytes / lineBytes; }
};

/// Returns the software prefetch of weights that do not stay in the L2 cache. While a row tile
/// multiplies by a panel, it prefetches its share of the next panel, which hides the memory
/// latency. Returns nullopt if few row tiles share a panel, since memory bandwidth is the limit
/// then. If the number of rows is dynamic, the next panel is divided among the first `usual` row
/// tiles; later tiles prefetch the last share again.
std::optional<Ahead> prefetchWeights(const ContractKernel &c, ArrayRef<Index> at, ArrayRef<DimExpr> counts) {
  constexpr int64_t fewest = 4, usual = 16;
  const ContractForm &form = c.form;
  int64_t m = c.tileRows(), n = c.tileColumns();
  auto none = [&](StringRef why) {
    LDBG() << c.k.kernel.getName() << ": weights are not prefetched: " << why;
    return std::nullopt;
  };
  if (!c.packed() || !form.tiled || !form.clips.empty() || counts.size() != 1 || n % form.rhs.block != 0)
    return none("they are not packed, or a tile is not within one panel");
  std::optional<int64_t> rows = form.rows.constant(), depth = counts[0].constant(), width = c.columns.constant(),
                         stride = form.rhs.strides[form.rhs.blockDim].constant();
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  Value weights = form.op->getOperand(1);
  if (!depth || !width || !stride || !target || !isa<BlockArgument>(weights))
    return none("a size is dynamic");
  int64_t tiles = rows ? llvm::divideCeil(*rows, m) : usual, panels = llvm::divideCeil(*width, n);
  int64_t panel = *stride * (n / form.rhs.block), bytes = graph::elementBytes(weights);
  if (tiles < fewest || panels * panel * bytes <= target.getL2Bytes())
    return none("few tiles share a panel, or the weights fit the cache");
  ElementEmitter &e = c.e;
  int64_t step = llvm::divideCeil(panel, tiles * *depth);
  Index tile = e.floorDiv(at[*form.tiled], e.constant(m));
  if (!rows)
    tile = e.min(tile, e.constant(usual - 1));
  Index isLast = e.floorDiv(e.add(at[form.roles.column], e.constant(n)), e.constant(panels * n)); // 0 or 1
  Index next = e.mul(e.sub(e.constant(1), isLast), e.constant(panel));
  return Ahead{e.add(next, e.mul(tile, e.constant(*depth * step))), step, step * bytes,
               plan::costsOf(c.k.kernel).getCacheLineBytes()};
}

/// Returns the software prefetch of the next tile's rows, for a left operand that is read once and
/// exceeds the L2 cache. Without the prefetch, a tile of many short rows would read all of its
/// cache lines within a few iterations and wait for them. The rows must be contiguous, so that each
/// iteration can prefetch an equal share of the next tile.
std::optional<Ahead> prefetchRows(const ContractKernel &c, ArrayRef<DimExpr> counts) {
  const ContractForm &form = c.form;
  auto none = [&](StringRef why) {
    LDBG() << c.k.kernel.getName() << ": rows are not prefetched: " << why;
    return std::nullopt;
  };
  if (!form.tiled || !form.clips.empty() || counts.size() != 1 || form.roles.columnInLeft)
    return none("the left operand is read in windows or along the columns");
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  Value left = form.op->getOperand(0);
  std::optional<int64_t> elements = graph::numElements(graph::getDims(left)).constant(), depth = counts[0].constant(),
                         width = c.columns.constant();
  if (!elements || !depth || !width || !target || !isa<BlockArgument>(left))
    return none("a size is dynamic");
  int64_t m = c.tileRows(), bytes = graph::elementBytes(left);
  if (*width > c.tileColumns() || *elements * bytes <= target.getL2Bytes() || m < 2 ||
      ContractForm::strideAlong(form.lhs, form.maps[0], *form.tiled) != DimExpr(*depth))
    return none("they are read more than once, fit the cache, or are not contiguous");
  return Ahead{c.e.constant(m * *depth), m, m * bytes, plan::costsOf(c.k.kernel).getCacheLineBytes()};
}

/// Returns how many iterations of the innermost loop share one vector load of the left operand,
/// each using one of its lanes (FMA by lane). Returns 1 if each element is loaded and broadcast
/// separately.
int64_t stepsPerVector(const ContractKernel &c, ArrayRef<SumLoop> loops, Type leftType) {
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  if (!target || !target.getHasFmaByLane() || c.form.roles.columnInLeft || loops.empty())
    return 1;
  int64_t word = c.sumType().getElementTypeBitWidth(), steps = target.getVectorBytes() * 8 / word;
  const SumLoop &last = loops.back();
  bool fits = leftType.getIntOrFloatBitWidth() * c.form.group() == word && last.left.is(c.form.group());
  return fits && steps > 1 && last.extent.constant().value_or(1) % steps == 0 ? steps : 1;
}

/// Loads the left operand's elements (or groups of elements for dot products) of `steps`
/// iterations.
Value loadLeftVector(const ContractKernel &c, Value left, Index position, int64_t steps) {
  auto type = VectorType::get({steps * c.form.group()}, cast<MemRefType>(left.getType()).getElementType());
  Value line = vector::LoadOp::create(c.b, c.loc(), type, left, position.base);
  auto words = VectorType::get({steps}, c.sumType().getElementType());
  return type == words ? line : vector::BitCastOp::create(c.b, c.loc(), words, line).getResult();
}

/// Broadcasts the left operand's element (or group of elements) of iteration `step` to all lanes.
Value splatLane(const ContractKernel &c, Value line, int64_t step, VectorType type) {
  Value factor = vector::ExtractOp::create(c.b, c.loc(), line, ArrayRef<int64_t>{step});
  auto words = VectorType::get({c.e.lanes}, factor.getType());
  factor = vector::BroadcastOp::create(c.b, c.loc(), words, factor);
  return words == type ? factor : vector::BitCastOp::create(c.b, c.loc(), type, factor).getResult();
}

/// Returns a vector whose lanes have channel number `channel` of their lane's convolution group.
/// With one channel per group, that vector is `channels` itself.
Value channelInLanes(const ContractKernel &c, Value channels, int64_t channel) {
  int64_t perGroup = c.form.roles.perGroup;
  if (perGroup == 1)
    return channels;
  auto places =
      llvm::map_to_vector(llvm::seq(c.e.lanes), [&](int64_t lane) { return lane / perGroup * perGroup + channel; });
  return vector::ShuffleOp::create(c.b, c.loc(), channels, channels, places);
}

//===------------------------------------------------------------------------------------------------------------------===//
// Reduction over the dims without folded padding
//===------------------------------------------------------------------------------------------------------------------===//

class InnerLoops {
public:
  /// Prepares a contraction's reduction loops, which vary those dims of the iteration point `at`
  /// that have no folded padding. Only rows r with `inside[r]` are accumulated, or all rows if
  /// `inside` is empty. `pair` selects the split-bf16 components of the two operands. If `readsRow`
  /// is given, a row whose condition in it is false reads the tile's zeros instead of the left
  /// operand.
  InnerLoops(const ContractKernel &c, const Tile &tile, ArrayRef<Index> at, ArrayRef<bool> inside,
             std::pair<unsigned, unsigned> pair, ArrayRef<Value> readsRow = {});
  Sums run(Sums sums);

private:
  Sums productsAt(ArrayRef<Index> indices, ValueRange carried);
  /// Loads the right operand's vectors for one iteration: the vectors of the panel, for each
  /// channel of a convolution group.
  Sums loadRight(Index offset);
  /// Loads column vector `j` of an operand whose columns are contiguous. If `mayPass` is true,
  /// memory after the last column is readable, so that the load needs no mask.
  Value load(Value memref, Index position, int64_t j, bool mayPass);
  /// Returns the offsets in the left and the right operand that an iteration of the reduction loops
  /// reads.
  std::pair<Index, Index> offsetsAt(ArrayRef<Index> indices);
  void prefetchNext(const std::optional<Ahead> &what, Value memref, ArrayRef<Index> indices, int64_t step);

  const ContractKernel &c;
  ElementEmitter &e;
  const ContractForm &form;
  const Panel &panel;
  ArrayRef<bool> inside;
  /// Memory from which each row of the tile is read: that of the left operand, or zeros. The
  /// elements of row r begin at `distance[r]` in `lefts[r]`.
  Sums lefts;
  Value right;
  VectorType leftType, rightType;
  SmallVector<Index> distance;
  SmallVector<SumLoop> loops;
  Dims counts;
  std::optional<Ahead> ahead, rowsAhead;
  int64_t steps;
  Index channelStride;
};

InnerLoops::InnerLoops(const ContractKernel &c, const Tile &tile, ArrayRef<Index> at, ArrayRef<bool> inside,
                       std::pair<unsigned, unsigned> pair, ArrayRef<Value> readsRow)
    : c(c), e(c.e), form(c.form), panel(tile.panel), inside(inside), loops(c.sumLoops(c.form.group())),
      channelStride(c.e.constant(0)) {
  auto stored = [](const Buffer &buffer) { return cast<MemRefType>(buffer.memref.getType()).getElementType(); };
  // A lane is as wide as an accumulator; it holds one operand element, or a group of elements that
  // have fewer bits.
  leftType = VectorType::get({e.lanes * form.group()}, stored(form.lhs));
  rightType = VectorType::get({e.lanes * form.group()}, stored(form.rhs));
  // Compute row distances from the first row that is inside of the input, since earlier rows may be
  // outside of the operand's memory.
  int64_t base = 0;
  while (!inside.empty() && !inside[base])
    ++base;
  Point first(at);
  if (form.tiled)
    first[*form.tiled] = e.add(first[*form.tiled], tile.rows[base]);
  Index start = c.offset(form.lhs, form.maps[0], first, form.clips);
  Value left = c.from(form.lhs, form.leftTerm(pair.first), start);
  lefts.assign(tile.rows.size(), left);
  right = c.from(form.rhs, form.rightTerm(pair.second), c.offset(form.rhs, form.maps[1], at));
  distance = c.rowDistances(tile.rows, base);
  for (auto [r, reads] : llvm::enumerate(readsRow)) {
    Value row = c.from(form.lhs, form.leftTerm(pair.first), e.add(start, distance[r]));
    Value zeros = c.from(form.lhs, tile.zeros, e.constant(0));
    lefts[r] = arith::SelectOp::create(c.b, c.loc(), reads, row, zeros);
    distance[r] = e.constant(0);
  }
  counts = llvm::map_to_vector<4>(loops, [](const SumLoop &l) { return l.extent; });
  ahead = prefetchWeights(c, at, counts);
  rowsAhead = prefetchRows(c, counts);
  steps = stepsPerVector(c, loops, stored(form.lhs));
  if (steps > 1)
    counts.back() = DimExpr(*counts.back().constant() / steps);
  if (form.roles.within)
    channelStride = e.expression(ContractForm::strideAlong(form.rhs, form.maps[1], *form.roles.within));
}

Value InnerLoops::load(Value memref, Index position, int64_t j, bool mayPass) {
  Value loaded;
  if (mayPass || !panel.masks[j]) {
    loaded = vector::LoadOp::create(c.b, c.loc(), rightType, memref, position.base);
  } else {
    Value zero = arith::ConstantOp::create(c.b, c.loc(), c.b.getZeroAttr(rightType));
    loaded = vector::MaskedLoadOp::create(c.b, c.loc(), rightType, memref, position.base, panel.masks[j], zero);
  }
  if (!graph::widensRight(form.op))
    return loaded;
  if (graph::isUnsigned(graph::getElementType(form.op->getOperand(1))))
    return arith::UIToFPOp::create(c.b, c.loc(), c.sumType(), loaded);
  if (isa<IntegerType>(rightType.getElementType()))
    return arith::SIToFPOp::create(c.b, c.loc(), c.sumType(), loaded);
  return arith::ExtFOp::create(c.b, c.loc(), c.sumType(), loaded);
}

Sums InnerLoops::loadRight(Index offset) {
  Sums vectors;
  for (int64_t channel = 0; channel < form.roles.perGroup; ++channel)
    // packed panels are padded with zeros, so loads need no mask
    for (int64_t j = 0; j < panel.vectors; ++j) {
      Index distance = e.add(c.rightDistance(j), e.mul(e.constant(channel), channelStride));
      vectors.push_back(load(right, e.add(offset, distance), j, c.packed()));
    }
  return vectors;
}

std::pair<Index, Index> InnerLoops::offsetsAt(ArrayRef<Index> indices) {
  Index left = e.constant(0), right = e.constant(0);
  for (auto [i, loop, index] : llvm::enumerate(loops, indices)) {
    DimExpr factor(i + 1 == loops.size() ? steps : 1);
    left = e.add(left, e.mul(index, e.expression(loop.left * factor)));
    right = e.add(right, e.mul(index, e.expression(loop.right * factor)));
  }
  return {left, right};
}

void InnerLoops::prefetchNext(const std::optional<Ahead> &what, Value memref, ArrayRef<Index> indices, int64_t step) {
  if (!what || !what->startsLine(step))
    return;
  Index at = e.add(e.mul(indices.back(), e.constant(steps)), e.constant(step));
  c.prefetch(memref, e.add(what->first, e.mul(at, e.constant(what->step))));
}

Sums InnerLoops::productsAt(ArrayRef<Index> indices, ValueRange carried) {
  bool shared = form.roles.columnInLeft;
  auto [leftOffset, rightOffset] = offsetsAt(indices);
  Sums next(carried), lines(distance.size());
  for (int64_t step = 0; step < steps; ++step) {
    if (step > 0)
      rightOffset = e.add(rightOffset, e.expression(loops.back().right));
    prefetchNext(ahead, right, indices, step);
    prefetchNext(rowsAhead, lefts.front(), indices, step);
    Sums vectors = loadRight(rightOffset);
    for (size_t r = 0; r < distance.size(); ++r) {
      if (!inside.empty() && !inside[r])
        continue;
      Index position = e.add(leftOffset, distance[r]);
      Value spread;
      if (steps > 1 && step == 0)
        lines[r] = loadLeftVector(c, lefts[r], position, steps);
      if (!shared)
        spread = steps > 1 ? splatLane(c, lines[r], step, leftType) : c.splatScalar(lefts[r], position, leftType);
      for (int64_t j = 0; j < panel.vectors; ++j) {
        Value &sum = next[r * panel.vectors + j];
        Value factor = shared ? load(lefts[r], e.add(position, e.constant(j * e.lanes)), j, false) : spread;
        for (int64_t channel = 0; channel < form.roles.perGroup; ++channel)
          sum = c.product(channelInLanes(c, factor, channel), vectors[channel * panel.vectors + j], sum);
      }
    }
  }
  return next;
}

Sums InnerLoops::run(Sums sums) {
  auto products = [&](ArrayRef<Index> indices, ValueRange carried) { return productsAt(indices, carried); };
  if (!form.roles.columnInLeft || counts.empty())
    return c.blockedSum(sums.size()).nest(counts, steps, std::max<int64_t>(4 / steps, 1), sums, products);
  // The innermost window loop of a depthwise convolution is short. It is fully unrolled, so that
  // adjacent output rows share the loads of their overlapping windows.
  const BlockedSum sum = c.blockedSum(sums.size());
  int64_t window = std::min(counts.back().constant().value_or(kSumBlock), kSumBlock);
  return sum.nest(ArrayRef(counts).drop_back(), window, 1, sums, [&](ArrayRef<Index> outer, ValueRange carried) {
    return sum.nest(counts.back(), 1, 16, carried, [&](ArrayRef<Index> last, ValueRange inner) {
      SmallVector<Index> indices(outer);
      indices.push_back(last[0]);
      return products(indices, inner);
    });
  });
}

//===------------------------------------------------------------------------------------------------------------------===//
// Windows with folded zero padding
//===------------------------------------------------------------------------------------------------------------------===//

/// Emits a branch on `condition` and returns the accumulators that the executed side (`then` or
/// `otherwise`) yields.
Sums branchSums(const ContractKernel &c, Value condition, llvm::function_ref<Sums()> then,
                llvm::function_ref<Sums()> otherwise, size_t count) {
  SmallVector<Type> types(count, c.sumType());
  auto branch = scf::IfOp::create(c.b, c.loc(), types, condition, /*withElseRegion=*/true);
  for (auto [block, body] : {std::pair(branch.thenBlock(), then), std::pair(branch.elseBlock(), otherwise)}) {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(block);
    c.e.forget();
    scf::YieldOp::create(c.b, c.loc(), body());
  }
  c.e.forget();
  return Sums(branch.getResults());
}

/// Returns the number of consecutive additions that the loops without folded padding make, and
/// those over the window along the tiled row dim if `withTiled` is true. Returns nullopt if it is
/// dynamic.
std::optional<int64_t> additionsInside(const ContractKernel &c, bool withTiled) {
  DimExpr count = graph::numElements(
      llvm::map_to_vector<4>(c.sumLoops(c.form.group()), [](const SumLoop &loop) { return loop.extent; }));
  if (const Clip *clip = withTiled ? c.form.tiledClip() : nullptr)
    count = count * c.form.extents[clip->summed];
  return count.constant();
}

/// Emits `body`, an iteration of a loop of `count` iterations that accumulates `sums`. If
/// `inside`, the number of consecutive additions of the iteration, calls for it, the iteration
/// accumulates from zero.
Sums inBlock(const ContractKernel &c, std::optional<int64_t> inside, const DimExpr &count, Sums sums,
             llvm::function_ref<Sums(Sums)> body) {
  const BlockedSum sum = c.blockedSum(sums.size());
  if (!sum.restarts(inside, count.constant().value_or(1)))
    return body(std::move(sums));
  return sum.restart(sums, [&](ValueRange partial) { return body(Sums(partial)); });
}

/// Emits a loop over the window offsets [low, high) that carries the accumulators.
Sums overWindowOffsets(const ContractKernel &c, Index low, Index high, Sums sums,
                       llvm::function_ref<Sums(Index, Sums)> body) {
  auto loop = scf::ForOp::create(c.b, c.loc(), low.base, high.base, c.e.constant(1).base, sums);
  {
    OpBuilder::InsertionGuard guard(c.b);
    c.b.setInsertionPointToStart(loop.getBody());
    c.e.forget();
    scf::YieldOp::create(c.b, c.loc(), body({loop.getInductionVar()}, Sums(loop.getRegionIterArgs())));
  }
  c.e.forget();
  return Sums(loop.getResults());
}

/// Accumulates over the window along the tiled row dim if the rows inside of the input are known
/// only at run time. The loop covers only window offsets at which some row of the tile is inside.
/// At an offset where all rows are inside, code without checks runs. Otherwise the tile is split: a
/// part without rows inside is skipped, and in a part with some rows inside, the other rows read
/// zeros.
class DynamicWindow {
public:
  DynamicWindow(const ContractKernel &c, const Tile &tile, const Clip &clip, std::pair<unsigned, unsigned> pair)
      : c(c), e(c.e), tile(tile), clip(clip), pair(pair), first(tile.at[clip.row]), rows(int64_t(tile.rows.size())),
        existing(e.min(*tile.rest, e.constant(rows))), window(*c.form.extents[clip.summed].constant()),
        additions(additionsInside(c, /*withTiled=*/false)) {}

  Sums run(const Point &at, Sums sums) {
    // In a depthwise convolution, a window offset has one multiply-add per row. The window is
    // therefore unrolled, without a loop, if all rows are inside of the input at all offsets.
    if (c.form.roles.columnInLeft)
      return branchSums(
          c, allInside(), [&] { return straight(at, sums); }, [&] { return overSome(at, sums); }, sums.size());
    return overSome(at, std::move(sums));
  }

private:
  /// Returns ceil(x / by).
  Index ceilDiv(Index x, int64_t by) { return e.floorDiv(e.add(x, e.constant(by - 1)), e.constant(by)); }
  /// Returns the input index of row `row` of the tile at window offset 0.
  Index startOf(Index row) { return e.sub(e.mul(e.add(first, row), e.constant(clip.stride)), e.constant(clip.low)); }
  Value lessThan(Index x, Index y) { return e.compare(arith::CmpIPredicate::slt, x, y); }

  Value allInside() {
    Index last = e.add(startOf(e.constant(rows - 1)), e.constant((window - 1) * clip.dilation));
    Value exist = e.compare(arith::CmpIPredicate::sge, *tile.rest, e.constant(rows));
    Value begins = e.compare(arith::CmpIPredicate::sge, startOf(e.constant(0)), e.constant(0));
    return e.logicalAnd(exist, e.logicalAnd(begins, lessThan(last, e.expression(clip.extent))));
  }

  Sums straight(Point at, Sums sums) {
    for (int64_t w = 0; w < window; ++w) {
      at[clip.summed] = e.constant(w);
      sums = atEach(std::move(sums), [&](Sums own) { return InnerLoops(c, tile, at, {}, pair).run(std::move(own)); });
    }
    return sums;
  }

  Sums overSome(const Point &at, Sums sums) {
    // Compute the window offsets w at which some row of the tile is inside of the input, that is,
    // at which (first + row) * stride + w * dilation - low is in [0, extent):
    Index last = startOf(e.sub(existing, e.constant(1)));
    Index low = e.max(ceilDiv(e.sub(e.constant(0), last), clip.dilation), e.constant(0));
    Index high =
        e.min(ceilDiv(e.sub(e.expression(clip.extent), startOf(e.constant(0))), clip.dilation), e.constant(window));
    return overWindowOffsets(c, low, high, std::move(sums), [&](Index w, Sums carried) {
      return atEach(std::move(carried), [&](Sums own) { return atOffset(at, w, own); });
    });
  }

  /// Emits `body`, which accumulates at one window offset.
  Sums atEach(Sums sums, llvm::function_ref<Sums(Sums)> body) {
    return inBlock(c, additions, DimExpr(window), std::move(sums), body);
  }

  Sums atOffset(Point at, Index w, const Sums &sums) {
    at[clip.summed] = w;
    Index start = e.add(startOf(e.constant(0)), e.mul(w, e.constant(clip.dilation)));
    Index begin = ceilDiv(e.sub(e.constant(0), start), clip.stride);
    Index end = e.min(ceilDiv(e.sub(e.expression(clip.extent), start), clip.stride), existing);
    Value all = e.logicalAnd(e.compare(arith::CmpIPredicate::sle, begin, e.constant(0)),
                             e.compare(arith::CmpIPredicate::sge, end, e.constant(rows)));
    auto whole = [&] { return InnerLoops(c, tile, at, {}, pair).run(sums); };
    auto parts = [&] {
      // With a single multiply-add per row (depthwise), a branch per row is cheaper than selecting
      // between the input and the zeros.
      constexpr int64_t divisible = 4;
      int64_t half = c.form.roles.columnInLeft ? 1 : rows < divisible ? rows : (rows + 1) / 2;
      Sums result;
      for (int64_t row = 0; row < rows; row += half)
        llvm::append_range(result, partAt(at, row, std::min(half, rows - row), begin, end, sums));
      return result;
    };
    return branchSums(c, all, whole, parts, sums.size());
  }

  /// Accumulates `count` rows starting at row `row` of the tile.
  Sums partAt(const Point &at, int64_t row, int64_t count, Index begin, Index end, ArrayRef<Value> sums) {
    int64_t vectors = tile.panel.vectors;
    Sums own(sums.slice(row * vectors, count * vectors));
    Value some = lessThan(e.max(begin, e.constant(row)), e.min(end, e.constant(row + count)));
    auto products = [&] {
      Tile part = tile;
      part.rows.assign(tile.rows.begin() + row, tile.rows.begin() + row + count);
      SmallVector<Value> reads;
      for (int64_t r = row; r < row + count && count > 1; ++r)
        reads.push_back(
            e.logicalAnd(e.compare(arith::CmpIPredicate::sle, begin, e.constant(r)), lessThan(e.constant(r), end)));
      return InnerLoops(c, part, at, {}, pair, reads).run(own);
    };
    return branchSums(c, some, products, [&] { return own; }, own.size());
  }

  const ContractKernel &c;
  ElementEmitter &e;
  const Tile &tile;
  const Clip &clip;
  std::pair<unsigned, unsigned> pair;
  Index first;
  int64_t rows;
  Index existing;
  int64_t window;
  std::optional<int64_t> additions;
};

/// Unrolls the window along the tiled row dim. If the rows inside of the input are static, each
/// offset accumulates just these rows.
Sums overTiledWindow(const ContractKernel &c, const Tile &tile, Point at, std::pair<unsigned, unsigned> pair,
                     Sums sums) {
  const Clip *clip = c.form.tiledClip();
  if (!clip)
    return InnerLoops(c, tile, at, {}, pair).run(std::move(sums));
  if (c.form.clipsWhenRun())
    return DynamicWindow(c, tile, *clip, pair).run(at, std::move(sums));
  const DimExpr &window = c.form.extents[clip->summed];
  std::optional<int64_t> additions = additionsInside(c, /*withTiled=*/false);
  for (int64_t w = 0; w < *window.constant(); ++w) {
    SmallVector<bool> inside(tile.rows.size(), true);
    if (!tile.inside.empty())
      inside = tile.inside[w];
    if (llvm::none_of(inside, [](bool is) { return is; }))
      continue;
    at[clip->summed] = c.e.constant(w);
    sums = inBlock(c, additions, window, std::move(sums),
                   [&](Sums own) { return InnerLoops(c, tile, at, inside, pair).run(std::move(own)); });
  }
  return sums;
}

/// Emits loops over the windows with the folded padding `clips`, restricted to the offsets inside
/// of the input. The innermost loop is the window along the tiled row dim.
Sums overWindows(const ContractKernel &c, const Tile &tile, ArrayRef<const Clip *> clips, Point at,
                 std::pair<unsigned, unsigned> pair, Sums sums) {
  if (clips.empty())
    return overTiledWindow(c, tile, std::move(at), pair, std::move(sums));
  // Compute the window offsets w that are inside of the input, that is, at which row * stride + w *
  // dilation - low is in [0, extent):
  ElementEmitter &e = c.e;
  const Clip &clip = *clips.front();
  Index start = e.sub(e.mul(at[clip.row], e.constant(clip.stride)), e.constant(clip.low));
  Index dilation = e.constant(clip.dilation), up = e.constant(clip.dilation - 1);
  Index low = e.max(e.floorDiv(e.sub(up, start), dilation), e.constant(0));
  Index high = e.min(e.floorDiv(e.add(e.sub(e.expression(clip.extent), start), up), dilation),
                     e.expression(c.form.extents[clip.summed]));
  std::optional<int64_t> additions = additionsInside(c, /*withTiled=*/true);
  for (const Clip *inner : clips.drop_front())
    additions = additions ? std::optional(*additions * *c.form.extents[inner->summed].constant()) : std::nullopt;
  return overWindowOffsets(c, low, high, std::move(sums), [&](Index w, Sums carried) {
    at[clip.summed] = w;
    return inBlock(c, additions, c.form.extents[clip.summed], std::move(carried),
                   [&](Sums own) { return overWindows(c, tile, clips.drop_front(), at, pair, std::move(own)); });
  });
}

} // namespace

SmallVector<Value> vectorSums(const ContractKernel &c, const Tile &tile) {
  Value zero = arith::ConstantOp::create(c.b, c.loc(), c.b.getZeroAttr(c.sumType()));
  Sums sums(tile.rows.size() * tile.panel.vectors, zero);
  if (c.form.code)
    return dequantizingMma(c, tile, std::move(sums));
  SmallVector<const Clip *> clips;
  for (const Clip &clip : c.form.clips)
    if (&clip != c.form.tiledClip())
      clips.push_back(&clip);
  for (auto terms : graph::termPairs(graph::termsOf(c.op)))
    sums = overWindows(c, tile, clips, tile.at, terms, std::move(sums));
  return sums;
}

} // namespace hewn::codegen
