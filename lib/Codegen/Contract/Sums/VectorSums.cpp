// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/Sums/VectorSums.h"
#include "lib/Codegen/Contract/Sums/CodedSums.h"

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
/// Adds the products of a step, whose indices in the loops over the sum are given, to the sums.
using AddProducts = llvm::function_ref<Sums(ArrayRef<Index>, ValueRange)>;

//===------------------------------------------------------------------------------------------------------------------===//
// Chains of additions
//===------------------------------------------------------------------------------------------------------------------===//

/// The greatest divisor of `extent` up to `most`.
int64_t greatestDivisor(int64_t extent, int64_t most) {
  while (extent % most != 0)
    --most;
  return most;
}

/// A chain for each point of `outer`. `cuts`: its last loop and `inner`'s run over one dim.
Sums nestOfChains(const ContractKernel &c, ArrayRef<DimExpr> outer, ArrayRef<DimExpr> inner, bool cuts,
                  int64_t unrollLimit, Sums sums, AddProducts products) {
  KernelElements &e = c.e;
  Value zero = arith::ConstantOp::create(c.b, c.loc(), c.b.getZeroAttr(c.sumType()));
  return e.loopNest(outer, sums, 1, [&](ArrayRef<Index> at, ValueRange carried) {
    Sums chains(carried.size(), zero);
    chains = e.loopNest(inner, chains, unrollLimit, [&](ArrayRef<Index> within, ValueRange next) {
      SmallVector<Index> indices(at);
      if (cuts) // both run over the same dim
        indices.back() = e.add(e.mul(at.back(), e.expression(inner.back())), within.back());
      else
        llvm::append_range(indices, within);
      return products(indices, next);
    });
    return llvm::map_to_vector(llvm::zip(carried, chains), [&](auto pair) -> Value {
      return arith::AddFOp::create(c.b, c.loc(), std::get<0>(pair), std::get<1>(pair));
    });
  });
}

/// The loops over the sum, those of `counts`, in chains of so few terms that float sums lose little: each chain begins at zero, and is
/// added to what there was. Sums of integers, and of lengths that only a run tells, are one chain. Each of `products` is of `steps` terms.
Sums chainsOfSums(const ContractKernel &c, ArrayRef<DimExpr> counts, int64_t steps, Sums sums, AddProducts products) {
  // A float loses up to half a last digit in each addition to a larger one.
  const int64_t longest = 8192 / steps, shortest = 256 / steps, unrollLimit = std::max<int64_t>(4 / steps, 1);
  size_t first = counts.size();
  int64_t chain = 1;
  for (; first > 0 && counts[first - 1].constant() && *counts[first - 1].constant() <= longest / chain; --first)
    chain *= std::max<int64_t>(*counts[first - 1].constant(), 1);
  bool known = llvm::all_of(counts, [](const DimExpr &count) { return count.constant().has_value(); });
  if (first == 0 || !known || !isa<FloatType>(c.sumType().getElementType()))
    return c.e.loopNest(counts, sums, unrollLimit, products);
  Dims outer(counts.take_front(first)), inner(counts.drop_front(first));
  bool cuts = inner.empty();
  if (cuts) {
    int64_t extent = *outer.back().constant(), block = greatestDivisor(extent, longest);
    if (block < shortest)
      return c.e.loopNest(counts, sums, unrollLimit, products);
    outer.back() = DimExpr(extent / block);
    inner.push_back(DimExpr(block));
  }
  return nestOfChains(c, outer, inner, cuts, unrollLimit, std::move(sums), products);
}

//===------------------------------------------------------------------------------------------------------------------===//
// What a step loads
//===------------------------------------------------------------------------------------------------------------------===//

/// What a step of the innermost loop asks for of the next panel, or of the next tile's rows: `step` elements behind the step before, from
/// `first` behind the tile's own first column, or row, on.
struct Ahead {
  Index first;
  int64_t step;
  /// Bytes of a step, and of a line of the cache.
  int64_t stepBytes, lineBytes;
  /// Whether the `i`-th of several steps in a row asks for a line that the one before has not asked for.
  bool asksAt(int64_t i) const { return i == 0 || i * stepBytes / lineBytes != (i - 1) * stepBytes / lineBytes; }
};

/// Weights that no cache has kept come one panel ahead, a slice by each tile of rows: a core waits less for memory that it
/// asked for while it had other work. Not where few tiles share a panel: they wait for memory anyhow. Where the number of rows is known only when
/// run, the next panel is divided among the first `usual` tiles, and later ones prefetch the last of these slices once more.
std::optional<Ahead> fetchAhead(const ContractKernel &c, ArrayRef<Index> at, ArrayRef<DimExpr> counts) {
  constexpr int64_t fewest = 4, usual = 16;
  const ContractForm &form = c.form;
  int64_t m = c.tileRows(), n = c.tileColumns();
  auto none = [&](StringRef why) {
    LDBG() << c.k.kernel.getName() << ": weights are not fetched ahead: " << why;
    return std::nullopt;
  };
  if (!c.packed() || !form.tiled || !form.clips.empty() || counts.size() != 1 || n % form.rhs.block != 0)
    return none("they lie in no panels, or tiles are not one panel's");
  std::optional<int64_t> rows = form.rows.constant(), depth = counts[0].constant(), width = c.columns.constant(),
                         stride = form.rhs.strides[form.rhs.blockDim].constant();
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  Value weights = form.op->getOperand(1);
  if (!depth || !width || !stride || !target || !isa<BlockArgument>(weights))
    return none("how many there are is known only when run");
  int64_t tiles = rows ? llvm::divideCeil(*rows, m) : usual, panels = llvm::divideCeil(*width, n);
  int64_t panel = *stride * (n / form.rhs.block), bytes = graph::elementBytes(weights);
  if (tiles < fewest || panels * panel * bytes <= target.getL2Bytes())
    return none("few tiles share a panel, or a cache keeps all of them");
  KernelElements &e = c.e;
  int64_t step = llvm::divideCeil(panel, tiles * *depth);
  Index tile = e.floorDiv(at[*form.tiled], e.constant(m));
  if (!rows)
    tile = e.min(tile, e.constant(usual - 1));
  Index isLast = e.floorDiv(e.add(at[form.roles.column], e.constant(n)), e.constant(panels * n)); // 0 or 1
  Index next = e.mul(e.sub(e.constant(1), isLast), e.constant(panel));
  return Ahead{e.add(next, e.mul(tile, e.constant(*depth * step))), step, step * bytes,
               plan::costsOf(c.k.kernel).getCacheLineBytes()};
}

/// Rows that are read once, from beyond the cache, come one tile ahead: a tile of many short rows asks for all of its lines within a few
/// steps, and then waits for them. They lie behind each other, so that a step may ask for any part of the next tile.
std::optional<Ahead> fetchRowsAhead(const ContractKernel &c, ArrayRef<DimExpr> counts) {
  const ContractForm &form = c.form;
  auto none = [&](StringRef why) {
    LDBG() << c.k.kernel.getName() << ": rows are not fetched ahead: " << why;
    return std::nullopt;
  };
  if (!form.tiled || !form.clips.empty() || counts.size() != 1 || form.roles.columnInLeft)
    return none("they are parts of windows");
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  Value left = form.op->getOperand(0);
  std::optional<int64_t> elements = graph::numElements(graph::getDims(left)).constant(), depth = counts[0].constant(),
                         width = c.columns.constant();
  if (!elements || !depth || !width || !target || !isa<BlockArgument>(left))
    return none("how many there are is known only when run");
  int64_t m = c.tileRows(), bytes = graph::elementBytes(left);
  if (*width > c.tileColumns() || *elements * bytes <= target.getL2Bytes() || m < 2 ||
      ContractForm::strideAlong(form.lhs, form.maps[0], *form.tiled) != DimExpr(*depth))
    return none("they are read again, a cache has them, or they lie apart");
  return Ahead{c.e.constant(m * *depth), m, m * bytes, plan::costsOf(c.k.kernel).getCacheLineBytes()};
}

/// How many steps of the innermost loop have their factors in one register, from which products take them lane by lane; 1: each is
/// spread by itself.
int64_t stepsInLine(const ContractKernel &c, ArrayRef<SumLoop> loops, Type leftType) {
  plan::TargetAttr target = plan::targetOf(c.k.kernel);
  if (!target || !target.getHasFmaByLane() || c.form.roles.columnInLeft || loops.empty())
    return 1;
  int64_t word = c.sumType().getElementTypeBitWidth(), steps = target.getVectorBytes() * 8 / word;
  const SumLoop &last = loops.back();
  bool fits = leftType.getIntOrFloatBitWidth() * c.form.group() == word && last.left.is(c.form.group());
  return fits && steps > 1 && last.extent.constant().value_or(1) % steps == 0 ? steps : 1;
}

/// The left operand's elements, or groups of them, of so many steps.
Value lineOfFactors(const ContractKernel &c, Value left, Index position, int64_t steps) {
  auto type = VectorType::get({steps * c.form.group()}, cast<MemRefType>(left.getType()).getElementType());
  Value line = vector::LoadOp::create(c.b, c.loc(), type, left, position.base);
  auto words = VectorType::get({steps}, c.sumType().getElementType());
  return type == words ? line : vector::BitCastOp::create(c.b, c.loc(), words, line).getResult();
}

/// Those of one of these steps, in every lane.
Value factorInLine(const ContractKernel &c, Value line, int64_t step, VectorType type) {
  Value factor = vector::ExtractOp::create(c.b, c.loc(), line, ArrayRef<int64_t>{step});
  auto words = VectorType::get({c.e.lanes}, factor.getType());
  factor = vector::BroadcastOp::create(c.b, c.loc(), words, factor);
  return words == type ? factor : vector::BitCastOp::create(c.b, c.loc(), type, factor).getResult();
}

/// In the lanes of each group the channel of that number of the group's; where there is but one, the channels.
Value channelOfGroups(const ContractKernel &c, Value channels, int64_t channel) {
  int64_t perGroup = c.form.roles.perGroup;
  if (perGroup == 1)
    return channels;
  auto places =
      llvm::map_to_vector(llvm::seq(c.e.lanes), [&](int64_t lane) { return lane / perGroup * perGroup + channel; });
  return vector::ShuffleOp::create(c.b, c.loc(), channels, channels, places);
}

//===------------------------------------------------------------------------------------------------------------------===//
// The products over the summed dims that have no border
//===------------------------------------------------------------------------------------------------------------------===//

class InnerLoops {
public:
  /// Of the rows in `inside` (empty: all), from `at` on, by the terms `pair` of both operands. `readsRow`, where given, says of each row
  /// whether it reads the left operand or the tile's zeros.
  InnerLoops(const ContractKernel &c, const Tile &tile, ArrayRef<Index> at, ArrayRef<bool> inside,
             std::pair<unsigned, unsigned> pair, ArrayRef<Value> readsRow = {});
  Sums run(Sums sums);

private:
  Sums productsAt(ArrayRef<Index> indices, ValueRange carried);
  /// The right operand's vectors of a step: for each channel of a group those of the panel.
  Sums loadRight(Index offset);
  /// Vector `j` of the panel's columns in an operand that lies along them; `mayPass`: what is behind the last column may be read, too.
  Value load(Value memref, Index position, int64_t j, bool mayPass);
  /// Where the factors of a step are in both operands.
  std::pair<Index, Index> offsetsAt(ArrayRef<Index> indices);
  void fetchNext(const std::optional<Ahead> &what, Value memref, ArrayRef<Index> indices, int64_t step);

  const ContractKernel &c;
  KernelElements &e;
  const ContractForm &form;
  const Panel &panel;
  ArrayRef<bool> inside;
  /// A row's elements of the left operand begin at `distance` in its `lefts`.
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
  // A lane holds one element of the sums' type or a group of narrower ones.
  leftType = VectorType::get({e.lanes * form.group()}, stored(form.lhs));
  rightType = VectorType::get({e.lanes * form.group()}, stored(form.rhs));
  // Distances count from the first row that is read: the ones before it may lie outside of the operand.
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
  ahead = fetchAhead(c, at, counts);
  rowsAhead = fetchRowsAhead(c, counts);
  steps = stepsInLine(c, loops, stored(form.lhs));
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
    for (int64_t j = 0; j < panel.vectors; ++j) { // packed panels are padded with zeros
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

void InnerLoops::fetchNext(const std::optional<Ahead> &what, Value memref, ArrayRef<Index> indices, int64_t step) {
  if (!what || !what->asksAt(step))
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
    fetchNext(ahead, right, indices, step);
    fetchNext(rowsAhead, lefts.front(), indices, step);
    Sums vectors = loadRight(rightOffset);
    for (size_t r = 0; r < distance.size(); ++r) {
      if (!inside.empty() && !inside[r])
        continue;
      Index position = e.add(leftOffset, distance[r]);
      Value spread;
      if (steps > 1 && step == 0)
        lines[r] = lineOfFactors(c, lefts[r], position, steps);
      if (!shared)
        spread = steps > 1 ? factorInLine(c, lines[r], step, leftType) : c.splatScalar(lefts[r], position, leftType);
      for (int64_t j = 0; j < panel.vectors; ++j) {
        Value &sum = next[r * panel.vectors + j];
        Value factor = shared ? load(lefts[r], e.add(position, e.constant(j * e.lanes)), j, false) : spread;
        for (int64_t channel = 0; channel < form.roles.perGroup; ++channel)
          sum = c.product(channelOfGroups(c, factor, channel), vectors[channel * panel.vectors + j], sum);
      }
    }
  }
  return next;
}

Sums InnerLoops::run(Sums sums) {
  auto products = [&](ArrayRef<Index> indices, ValueRange carried) { return productsAt(indices, carried); };
  if (!form.roles.columnInLeft || counts.empty())
    return chainsOfSums(c, counts, steps, std::move(sums), products);
  // The innermost window of channels is short: straight code lets neighbouring rows share what they load.
  return e.loopNest(ArrayRef(counts).drop_back(), sums, 1, [&](ArrayRef<Index> outer, ValueRange carried) {
    return e.loopNest(counts.back(), carried, 16, [&](ArrayRef<Index> last, ValueRange inner) {
      SmallVector<Index> indices(outer);
      indices.push_back(last[0]);
      return products(indices, inner);
    });
  });
}

//===------------------------------------------------------------------------------------------------------------------===//
// Windows that reach over a border
//===------------------------------------------------------------------------------------------------------------------===//

/// `then` where `condition` holds, else `otherwise`: one of their sums.
Sums eitherSums(const ContractKernel &c, Value condition, llvm::function_ref<Sums()> then,
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

/// Sums that are carried through the places [low, high) of a window; `body` gets one of them.
Sums overPlaces(const ContractKernel &c, Index low, Index high, Sums sums, llvm::function_ref<Sums(Index, Sums)> body) {
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

/// The tile's own window where only a run tells which rows are inside. Places at which none is are left out. Where all are, they are
/// products like others; else a part of the tile of which some row is inside takes zeros for the rows that are not.
class WindowWhenRun {
public:
  WindowWhenRun(const ContractKernel &c, const Tile &tile, const Clip &clip, std::pair<unsigned, unsigned> pair)
      : c(c), e(c.e), tile(tile), clip(clip), pair(pair), first(tile.at[clip.row]), rows(int64_t(tile.rows.size())),
        existing(e.min(*tile.rest, e.constant(rows))), window(*c.form.extents[clip.summed].constant()) {}

  Sums run(const Point &at, Sums sums) {
    // Channels in lanes have but a product for each place and row: straight code where all are inside.
    if (c.form.roles.columnInLeft)
      return eitherSums(
          c, allInside(), [&] { return straight(at, sums); }, [&] { return overSome(at, sums); }, sums.size());
    return overSome(at, std::move(sums));
  }

private:
  /// ceil(x / by)
  Index ceilDiv(Index x, int64_t by) { return e.floorDiv(e.add(x, e.constant(by - 1)), e.constant(by)); }
  /// Where row `row` of the tile would be in the source at the window's first place.
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
      sums = InnerLoops(c, tile, at, {}, pair).run(std::move(sums));
    }
    return sums;
  }

  Sums overSome(const Point &at, Sums sums) {
    // (first + row) * stride + w * dilation - low in [0, extent) for some row
    Index last = startOf(e.sub(existing, e.constant(1)));
    Index low = e.max(ceilDiv(e.sub(e.constant(0), last), clip.dilation), e.constant(0));
    Index high =
        e.min(ceilDiv(e.sub(e.expression(clip.extent), startOf(e.constant(0))), clip.dilation), e.constant(window));
    return overPlaces(c, low, high, std::move(sums), [&](Index w, Sums carried) { return atPlace(at, w, carried); });
  }

  Sums atPlace(Point at, Index w, const Sums &sums) {
    at[clip.summed] = w;
    Index start = e.add(startOf(e.constant(0)), e.mul(w, e.constant(clip.dilation)));
    Index begin = ceilDiv(e.sub(e.constant(0), start), clip.stride);
    Index end = e.min(ceilDiv(e.sub(e.expression(clip.extent), start), clip.stride), existing);
    Value all = e.logicalAnd(e.compare(arith::CmpIPredicate::sle, begin, e.constant(0)),
                             e.compare(arith::CmpIPredicate::sge, end, e.constant(rows)));
    auto whole = [&] { return InnerLoops(c, tile, at, {}, pair).run(sums); };
    auto parts = [&] {
      // Where a place is but one product, finding out about a row's memory would be more work than that.
      constexpr int64_t divisible = 4;
      int64_t half = c.form.roles.columnInLeft ? 1 : rows < divisible ? rows : (rows + 1) / 2;
      Sums result;
      for (int64_t row = 0; row < rows; row += half)
        llvm::append_range(result, partAt(at, row, std::min(half, rows - row), begin, end, sums));
      return result;
    };
    return eitherSums(c, all, whole, parts, sums.size());
  }

  /// The sums of `count` rows from row `row` of the tile on.
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
    return eitherSums(c, some, products, [&] { return own; }, own.size());
  }

  const ContractKernel &c;
  KernelElements &e;
  const Tile &tile;
  const Clip &clip;
  std::pair<unsigned, unsigned> pair;
  Index first;
  int64_t rows;
  Index existing;
  int64_t window;
};

/// The tile's own window place by place, where it reaches over a border: rows are inside or not.
Sums overTiledWindow(const ContractKernel &c, const Tile &tile, Point at, std::pair<unsigned, unsigned> pair,
                     Sums sums) {
  const Clip *clip = c.form.tiledClip();
  if (!clip)
    return InnerLoops(c, tile, at, {}, pair).run(std::move(sums));
  if (c.form.clipsWhenRun())
    return WindowWhenRun(c, tile, *clip, pair).run(at, std::move(sums));
  for (int64_t w = 0; w < *c.form.extents[clip->summed].constant(); ++w) {
    SmallVector<bool> inside(tile.rows.size(), true);
    if (!tile.inside.empty())
      inside = tile.inside[w];
    if (llvm::none_of(inside, [](bool is) { return is; }))
      continue;
    at[clip->summed] = c.e.constant(w);
    sums = InnerLoops(c, tile, at, inside, pair).run(std::move(sums));
  }
  return sums;
}

/// Loops over the places of the windows `clips` that are inside, then the tile's own window.
Sums overWindows(const ContractKernel &c, const Tile &tile, ArrayRef<const Clip *> clips, Point at,
                 std::pair<unsigned, unsigned> pair, Sums sums) {
  if (clips.empty())
    return overTiledWindow(c, tile, std::move(at), pair, std::move(sums));
  // row * stride + w * dilation - low in [0, extent)
  KernelElements &e = c.e;
  const Clip &clip = *clips.front();
  Index start = e.sub(e.mul(at[clip.row], e.constant(clip.stride)), e.constant(clip.low));
  Index dilation = e.constant(clip.dilation), up = e.constant(clip.dilation - 1);
  Index low = e.max(e.floorDiv(e.sub(up, start), dilation), e.constant(0));
  Index high = e.min(e.floorDiv(e.add(e.sub(e.expression(clip.extent), start), up), dilation),
                     e.expression(c.form.extents[clip.summed]));
  return overPlaces(c, low, high, std::move(sums), [&](Index w, Sums carried) {
    at[clip.summed] = w;
    return overWindows(c, tile, clips.drop_front(), at, pair, std::move(carried));
  });
}

} // namespace

SmallVector<Value> vectorSums(const ContractKernel &c, const Tile &tile) {
  Value zero = arith::ConstantOp::create(c.b, c.loc(), c.b.getZeroAttr(c.sumType()));
  Sums sums(tile.rows.size() * tile.panel.vectors, zero);
  if (c.form.code)
    return codedSums(c, tile, std::move(sums));
  SmallVector<const Clip *> clips;
  for (const Clip &clip : c.form.clips)
    if (&clip != c.form.tiledClip())
      clips.push_back(&clip);
  for (auto terms : graph::termPairs(graph::termsOf(c.op)))
    sums = overWindows(c, tile, clips, tile.at, terms, std::move(sums));
  return sums;
}

} // namespace hewn::codegen
