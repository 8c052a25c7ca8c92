// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/WinogradEngine.h"
#include "lib/Codegen/BlockedSum.h"
#include "lib/Codegen/Contract/ContractSchedule.h"
#include "lib/Codegen/Tasks.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

namespace {

struct WinogradForm {
  graph::ContractOpInterface op;
  SmallVector<AffineMap> maps;
  Dims extents;
  graph::ContractRoles roles;
  graph::WinogradDims dims;
  const graph::Winograd *transform;
  /// The input of a Winograd convolution before its zero padding, and the packed weights. The
  /// padding adds `low[i]` elements before the input along window dim i.
  Buffer lhs, rhs;
  int64_t low[2] = {0, 0};
};

/// Analyzes the kernel's contraction if its weights are Winograd-transformed. Returns the reason if
/// they are not, or if the kernel is not supported.
OrReason<WinogradForm> winogradForm(KernelContext &k) {
  graph::ContractOpInterface op = k.analysis->contraction;
  int64_t tile = op ? graph::winogradTile(op->getOperand(1).getType()) : 0;
  if (!tile)
    return Eligibility::no("is not a contraction with Winograd-transformed weights");
  std::optional<graph::WinogradDims> dims = graph::winogradDims(op);
  if (!dims)
    return Eligibility::no("Winograd convolution needs a 3x3 window with stride 1 and a static number of channels");
  if (!k.inputs.contains(op->getOperand(1)))
    return Eligibility::no("the Winograd-transformed weights are computed in the kernel");
  WinogradForm form;
  form.op = op;
  form.maps = op.getIndexingMaps();
  form.extents = op.getIterationDims(graph::getDims);
  form.roles = *graph::contractRoles(op);
  form.dims = *dims;
  form.transform = graph::winograd(tile);
  form.rhs = k.inputs.find(op->getOperand(1))->second;
  std::optional<unsigned> column = graph::resultWith(form.maps[1], form.roles.column);
  if (!column || form.rhs.blockDim != int64_t(*column))
    return Eligibility::no("the Winograd-transformed weights are not packed in panels of columns");
  Value left = op->getOperand(0);
  if (auto border = left.getDefiningOp<graph::IndexingOpInterface>()) {
    std::optional<SmallVector<graph::Clip>> clips = graph::clipsOf(op, border);
    if (!clips)
      return Eligibility::no("the input is read through an indexing op that is not zero padding");
    for (const graph::Clip &clip : *clips)
      for (unsigned i = 0; i < 2; ++i)
        if (clip.operandDim == form.dims.left[i])
          form.low[i] = clip.low;
    left = border->getOperand(0);
  }
  if (!k.inputs.contains(left))
    return Eligibility::no("the left operand is computed in the kernel");
  form.lhs = k.inputs.find(left)->second;
  if (!ContractForm::strideAlong(form.lhs, form.maps[0], form.dims.channels).is(1))
    return Eligibility::no("the input's channels are not contiguous in memory");
  const std::optional<graph::SpaceMap> &map = k.analysis->space;
  for (Value output : k.results)
    if (!map || !map->placeOf(output))
      return Eligibility::no("an op of the epilogue reads the contraction's result at another index than its own");
  return form;
}

class WinogradEmitter {
public:
  WinogradEmitter(KernelContext &k, OpBuilder &b, const WinogradForm &form, plan::WinogradAttr schedule,
                  const Buffer &memory)
      : k(k), b(b), form(form), f(*form.transform), operandStride(schedule.getStride()), m(schedule.getM()),
        n(schedule.getN()), tilesOfBlock(schedule.getBlock()), panelsAtOnce(schedule.getPanels()), memory(memory),
        e(b, k.loc(), schedule.getLanes(), k.symbols, k.inputs), iteration(form.extents.size()) {
    std::tie(down, across) = plan::winogradTiles(form.op, f.tile);
  }

  void run() {
    for (Index &index : iteration)
      index = e.constant(0);
    tiles = down * across;
    channels = *form.extents[form.dims.channels].constant();
    columns = *form.extents[form.roles.column].constant();
    plan::TargetAttr target = plan::targetOf(k.kernel);
    int64_t weightBytes = graph::elementBytes(form.op->getOperand(1));
    fetchesAhead = target && places() * channels * columns * weightBytes > target.getL2Bytes();
    lineWeights = plan::costsOf(k.kernel).getCacheLineBytes() / weightBytes;
    SmallVector<unsigned> images;
    Dims counts;
    for (unsigned d : form.roles.rows)
      if (d != form.dims.rows[0] && d != form.dims.rows[1]) {
        images.push_back(d);
        counts.push_back(form.extents[d]);
      }
    counts.push_back(tiles.ceilDiv(tilesOfBlock));
    DimExpr work = vectorWork(graph::numElements(form.extents), e.lanes, 1);
    int64_t slots = *memory.dims[0].constant();
    auto enter = [&](Index slot) { operandsAt = e.mul(slot, e.expression(memory.strides[0])); };
    if (plan::sharesColumns(form.op, f.tile, tilesOfBlock, slots))
      return overRanges(k, e, DimExpr(slots), work, [&](Index begin, Index end) {
        enter(begin);
        columnsOfOneBlock(begin, end, slots);
      });
    overSlots(k, e, slots, counts, work, enter, [&](ArrayRef<Index> at) {
      for (auto [d, index] : llvm::zip(images, at))
        iteration[d] = index;
      block(e.mul(at.back(), e.constant(tilesOfBlock)));
    });
  }

private:
  KernelContext &k;
  OpBuilder &b;
  const WinogradForm &form;
  const graph::Winograd &f;
  /// Parameters of a Winograd kernel: `operandStride` is the number of floats between adjacent
  /// transformed input tiles. `m` and `n` are the rows and columns of a register tile.
  /// `tilesOfBlock` is the number of result tiles in a block. `panelsAtOnce` is the number of
  /// weight panels that are multiplied for one tile element before the next element.
  int64_t operandStride, m, n, tilesOfBlock, panelsAtOnce;
  DimExpr down, across;
  Buffer memory;
  ElementEmitter e;
  SmallVector<Index> iteration;
  DimExpr tiles;
  int64_t channels = 0, columns = 0, lineWeights = 0;
  /// True if the Winograd-transformed weights do not stay in a cache and are prefetched one panel
  /// ahead. Consecutive panels may be far apart in memory, so the hardware prefetcher does not find
  /// the next panel.
  bool fetchesAhead = false;
  // Offset of the task's slot in the scratch memory. A slot holds the transformed input as
  // [element][tile][channel], then the accumulators as [panel][element][tile][column].
  Index operandsAt;

  Location loc() { return k.loc(); }
  VectorType vectorType() { return VectorType::get({e.lanes}, b.getF32Type()); }
  int64_t places() const { return f.size * f.size; }
  Index operandOf(Index tile) { return e.add(operandsAt, e.mul(tile, e.constant(operandStride))); }
  int64_t betweenOperands() const { return tilesOfBlock * operandStride; }
  /// Returns the offset of a tile's accumulators in the scratch memory. `panel` is the index within
  /// the panels that are multiplied together.
  Index sumOf(Index panel, Index tile) {
    Index inPanel = e.add(e.mul(panel, e.constant(places() * betweenSums())), e.mul(tile, e.constant(n)));
    return e.add(operandsAt, e.add(e.constant(places() * betweenOperands()), inPanel));
  }
  int64_t betweenSums() const { return tilesOfBlock * n; }

  Index transformOperands(Index first) {
    Index count = e.min(e.sub(e.expression(tiles), first), e.constant(tilesOfBlock));
    e.forEach(e.constant(0), count, 1, [&](Index tile) { transformOperand(tile, e.add(first, tile)); });
    return count;
  }

  /// Multiplies `count` transformed input tiles by `atOnce` panels of `width` columns of the
  /// weights, starting at panel `from`, and transforms the products back. `first` is the index of
  /// the first tile.
  void panels(Index from, Index atOnce, int64_t width, Index first, Index count) {
    e.forEach(e.constant(0), e.constant(places()), 1, [&](Index place) {
      e.forEach(e.constant(0), atOnce, 1, [&](Index panel) { multiply(from, panel, atOnce, place, count, width); });
    });
    e.forEach(e.constant(0), atOnce, 1, [&](Index panel) {
      e.forEach(e.constant(0), count, 1,
                [&](Index tile) { transformSums(tile, e.add(first, tile), from, panel, width); });
    });
  }

  /// Emits a block of tiles: transforms their inputs, multiplies all panels and transforms the
  /// products back. `first` is the index of the first tile.
  void block(Index first) {
    Index count = transformOperands(first);
    int64_t whole = columns / n, rest = columns % n;
    e.forEach(e.constant(0), e.constant(whole), panelsAtOnce,
              [&](Index from) { panels(from, e.constant(panelsAtOnce), n, first, count); });
    if (rest > 0)
      panels(e.constant(whole), e.constant(1), rest, first, count);
  }

  /// Emits a Winograd kernel for an input that is a single block of tiles. The tasks share the
  /// output columns: a task gets the slots [begin, end), and each slot has the same number of
  /// weight panels. The task transforms the whole input, and multiplies the transformed input by
  /// the weight panels of all its slots at once. The memory of a slot holds the accumulators of
  /// its panels.
  void columnsOfOneBlock(Index begin, Index end, int64_t slots) {
    Index first = e.constant(0), count = transformOperands(first);
    Index own = e.constant(panelsAtOnce), whole = e.constant(columns / n);
    // the last slot may have fewer panels
    Index from = e.mul(begin, own), to = e.min(e.mul(end, own), whole);
    panels(from, e.sub(to, from), n, first, count);
    if (int64_t rest = columns % n; rest > 0) {
      Value isLast = e.compare(arith::CmpIPredicate::eq, end, e.constant(slots));
      e.branch(isLast, [&] { panels(whole, e.constant(1), rest, first, count); }, [] {});
    }
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // Transforms
  //===----------------------------------------------------------------------------------------------------------------===//

  /// Returns matrix * x for a row-major matrix of small integers, mostly 0, 1 and -1.
  SmallVector<Value> times(ArrayRef<double> matrix, ArrayRef<Value> x) {
    SmallVector<Value> results;
    for (size_t row = 0; row < matrix.size(); row += x.size()) {
      ArrayRef<double> factors = matrix.slice(row, x.size());
      // Start the sum with a summand whose matrix element is 1, if there is one, which saves a
      // multiplication.
      size_t lead = llvm::find(factors, 1.0) - factors.begin();
      if (lead == factors.size())
        lead = llvm::find_if(factors, [](double factor) { return factor != 0; }) - factors.begin();
      Value sum =
          factors[lead] == 1 ? x[lead] : arith::MulFOp::create(b, loc(), splat(factors[lead]), x[lead]).getResult();
      for (auto [i, factor] : llvm::enumerate(factors)) {
        if (i == lead || factor == 0)
          continue;
        if (factor == 1)
          sum = arith::AddFOp::create(b, loc(), sum, x[i]);
        else if (factor == -1)
          sum = arith::SubFOp::create(b, loc(), sum, x[i]);
        else
          sum = vector::FMAOp::create(b, loc(), splat(factor), x[i], sum);
      }
      results.push_back(sum);
    }
    return results;
  }

  Value splat(double value) {
    return arith::ConstantOp::create(b, loc(), DenseElementsAttr::get(vectorType(), float(value)));
  }

  /// Returns matrix * x * matrix' (the transpose) for a square matrix x. Matrices are row-major.
  SmallVector<Value> timesBothSides(ArrayRef<double> matrix, ArrayRef<Value> x) {
    int64_t from = f.size, to = int64_t(matrix.size()) / from;
    SmallVector<Value> half(to * from), whole;
    for (int64_t column = 0; column < from; ++column) {
      SmallVector<Value> along;
      for (int64_t row = 0; row < from; ++row)
        along.push_back(x[row * from + column]);
      for (auto [row, value] : llvm::enumerate(times(matrix, along)))
        half[row * from + column] = value;
    }
    for (int64_t row = 0; row < to; ++row)
      llvm::append_range(whole, times(matrix, ArrayRef(half).slice(row * from, from)));
    return whole;
  }

  /// Returns the row and the column of the first result element of tile number `position`.
  std::pair<Index, Index> startOf(Index position) {
    Index line = e.expression(across);
    return {e.mul(e.floorDiv(position, line), e.constant(f.tile)), e.mul(e.mod(position, line), e.constant(f.tile))};
  }

  void transformOperand(Index tile, Index position) {
    auto [row, column] = startOf(position);
    Index start[2] = {e.sub(row, e.constant(form.low[0])), e.sub(column, e.constant(form.low[1]))};
    Value inside;
    for (unsigned i = 0; i < 2; ++i) {
      Index extent = e.expression(form.lhs.dims[form.dims.left[i]]);
      for (Value one : {e.compare(arith::CmpIPredicate::sge, start[i], e.constant(0)),
                        e.compare(arith::CmpIPredicate::sle, e.add(start[i], e.constant(f.size)), extent)})
        inside = inside ? e.logicalAnd(inside, one) : one;
    }
    auto all = [&](bool masked) {
      SmallVector<Value> exists(places());
      // Clamp the addresses of masked loads to the input: a fully masked load is slow if its
      // address is unmapped.
      SmallVector<Index> nearest[2];
      if (masked) {
        for (unsigned i = 0; i < 2; ++i)
          for (int64_t step = 0; step < f.size; ++step) {
            Index last = e.sub(e.expression(form.lhs.dims[form.dims.left[i]]), e.constant(1));
            nearest[i].push_back(e.max(e.min(e.add(start[i], e.constant(step)), last), e.constant(0)));
          }
        for (int64_t place = 0; place < places(); ++place) {
          Index at[2] = {e.add(start[0], e.constant(place / f.size)), e.add(start[1], e.constant(place % f.size))};
          Value in;
          for (unsigned i = 0; i < 2; ++i) {
            Value one = e.inBounds(at[i], e.expression(form.lhs.dims[form.dims.left[i]]));
            in = in ? e.logicalAnd(in, one) : one;
          }
          exists[place] = e.broadcast(in);
        }
      }
      int64_t whole = channels / e.lanes * e.lanes;
      e.forEach(e.constant(0), e.constant(whole), e.lanes,
                [&](Index channel) { transformVector(tile, start, nearest, channel, exists, {}); });
      if (whole < channels) {
        Value lanes = vector::CreateMaskOp::create(b, loc(), VectorType::get({e.lanes}, b.getI1Type()),
                                                   e.constant(channels - whole).base);
        transformVector(tile, start, nearest, e.constant(whole), exists, lanes);
      }
    };
    e.branch(inside, [&] { all(false); }, [&] { all(true); });
  }

  /// Transforms a vector of channels of the input tile d (B' d B) and stores the result. `exists`
  /// has for each tile element the mask of lanes to load, or null for all lanes. If `exists` has
  /// masks, `nearest[i]` has the indices along window dim i that the steps from `start[i]` read,
  /// clamped to the input. `lanes` is the mask of valid channels, or null if all are valid.
  void transformVector(Index tile, const Index *start, const SmallVector<Index> *nearest, Index channel,
                       ArrayRef<Value> exists, Value lanes) {
    SmallVector<Index> at(iteration);
    at[form.dims.channels] = channel;
    SmallVector<Value> elements;
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(vectorType()));
    const Index none[2] = {e.constant(0), e.constant(0)};
    Index origin = operandOffset(at, nearest[0].empty() ? start : none);
    for (int64_t place = 0; place < places(); ++place) {
      Index from = origin;
      int64_t steps[2] = {place / f.size, place % f.size};
      for (unsigned i = 0; i < 2; ++i) {
        Index step = nearest[i].empty() ? e.constant(steps[i]) : nearest[i][steps[i]];
        from = e.add(from, e.mul(step, e.expression(form.lhs.strides[form.dims.left[i]])));
      }
      Value mask = exists[place];
      if (lanes)
        mask = mask ? arith::AndIOp::create(b, loc(), mask, lanes).getResult() : lanes;
      elements.push_back(
          mask
              ? vector::MaskedLoadOp::create(b, loc(), vectorType(), form.lhs.memref, from.base, mask, zero).getResult()
              : vector::LoadOp::create(b, loc(), vectorType(), form.lhs.memref, from.base).getResult());
    }
    Index to = e.add(operandOf(tile), channel);
    for (auto [place, value] : llvm::enumerate(timesBothSides(f.input, elements)))
      vector::StoreOp::create(b, loc(), value, memory.memref,
                              e.add(to, e.constant(int64_t(place) * betweenOperands())).base);
  }

  Index operandOffset(ArrayRef<Index> at, const Index *start) {
    Index sum = form.lhs.start ? Index{form.lhs.start} : e.constant(0);
    for (auto [i, expr] : llvm::enumerate(form.maps[0].getResults())) {
      Index index = i == form.dims.left[0] ? start[0] : i == form.dims.left[1] ? start[1] : e.affine(expr, at);
      if (!form.lhs.dims[i].is(1) || i == form.dims.left[0] || i == form.dims.left[1])
        sum = e.add(sum, e.mul(index, e.expression(form.lhs.strides[i])));
    }
    return sum;
  }

  /// Transforms the accumulators m of a tile back (A' m A) for `width` columns of panel `from` +
  /// `panel`, applies the epilogue and stores the results.
  void transformSums(Index tile, Index position, Index from, Index panel, int64_t width) {
    auto [row, column] = startOf(position);
    Index starts[2] = {row, column}, firstColumn = e.mul(e.add(from, panel), e.constant(n));
    for (int64_t first = 0; first < width; first += e.lanes) {
      SmallVector<Value> elements;
      Index at = e.add(sumOf(panel, tile), e.constant(first));
      for (int64_t place = 0; place < places(); ++place)
        elements.push_back(vector::LoadOp::create(b, loc(), vectorType(), memory.memref,
                                                  e.add(at, e.constant(place * betweenSums())).base));
      SmallVector<Value> results = timesBothSides(f.output, elements);
      Value mask;
      if (width - first < e.lanes)
        mask = vector::CreateMaskOp::create(b, loc(), VectorType::get({e.lanes}, b.getI1Type()),
                                            e.constant(width - first).base);
      Index lanes{e.add(firstColumn, e.constant(first)).base, 1};
      for (auto [i, result] : llvm::enumerate(results))
        storeResult(result, starts, {int64_t(i) / f.tile, int64_t(i) % f.tile}, lanes, mask);
    }
  }

  void storeResult(Value result, const Index *starts, std::array<int64_t, 2> steps, Index lanes, Value mask) {
    SmallVector<Index> point(iteration);
    point[form.roles.column] = lanes;
    Value exists; // the last tile of a row may extend past its end
    for (unsigned i = 0; i < 2; ++i) {
      const DimExpr &extent = form.extents[form.dims.rows[i]];
      point[form.dims.rows[i]] = e.add(starts[i], e.constant(steps[i]));
      if (steps[i] == 0 || extent.mod(f.tile).is(0))
        continue;
      Value one = e.compare(arith::CmpIPredicate::slt, point[form.dims.rows[i]], e.expression(extent));
      exists = exists ? e.logicalAnd(exists, one) : one;
    }
    OpBuilder::InsertionGuard guard(b);
    if (exists) {
      b.setInsertionPointToStart(scf::IfOp::create(b, loc(), exists, /*withElseRegion=*/false).thenBlock());
      e.forget();
    }
    SmallVector<Index> at =
        llvm::map_to_vector(form.maps[2].getResults(), [&](AffineExpr x) { return e.affine(x, point); });
    e.setMask(mask);
    e.bind(form.op->getResult(0), result);
    SmallVector<Value> elements = llvm::map_to_vector(k.results, [&](Value value) { return e.read(value, at); });
    for (auto [output, element] : llvm::zip(k.outputs, elements))
      e.write(output, at, element);
    e.setMask({});
    e.unbind(form.op->getResult(0));
  }

  //===----------------------------------------------------------------------------------------------------------------===//
  // GEMM
  //===----------------------------------------------------------------------------------------------------------------===//

  /// Multiplies element `place` of the first `count` transformed input tiles (rounded up to full
  /// register tiles) by `width` columns of panel `from` + `panel` of the weights. `atOnce` is the
  /// number of panels that are multiplied before the next element.
  void multiply(Index from, Index panel, Index atOnce, Index place, Index count, int64_t width) {
    Index left = e.add(operandsAt, e.mul(place, e.constant(betweenOperands())));
    Index right = e.add(placeInWeights(place), panelInWeights(e.add(from, panel)));
    // Find the panel to prefetch: the next panel for this element, else the first panel for the
    // next element, else the first panel of the next group of `atOnce` panels.
    Index following = e.add(panel, e.constant(1)), isLast = e.floorDiv(following, atOnce);
    Index nextPlace = e.add(place, isLast), isOver = e.floorDiv(nextPlace, e.constant(places()));
    Index nextPanel = e.add(e.mod(following, atOnce), e.mul(isOver, atOnce));
    Index next = e.add(placeInWeights(e.mod(nextPlace, e.constant(places()))), panelInWeights(e.add(from, nextPanel)));
    Index sums = e.add(sumOf(panel, e.constant(0)), e.mul(place, e.constant(betweenSums())));
    e.forEach(e.constant(0), count, m, [&](Index tile) {
      registerTile(e.add(left, e.mul(tile, e.constant(operandStride))), right, next,
                   e.add(sums, e.mul(tile, e.constant(n))), (width + e.lanes - 1) / e.lanes);
    });
  }

  Index placeInWeights(Index place) {
    Index size = e.constant(f.size);
    return e.add(e.mul(e.floorDiv(place, size), e.expression(form.rhs.strides[form.dims.right[0]])),
                 e.mul(e.mod(place, size), e.expression(form.rhs.strides[form.dims.right[1]])));
  }

  /// Returns the offset in the weights of the first column of panel `panel`. A panel of n columns
  /// spans several panels of the packed weights, or is a part of one.
  Index panelInWeights(Index panel) {
    Index stride = e.expression(form.rhs.strides[form.rhs.blockDim]), block = e.constant(form.rhs.block);
    Index column = e.mul(panel, e.constant(n));
    return e.add(e.mul(e.floorDiv(column, block), stride), e.mod(column, block));
  }

  /// Loads a vector of weights. Extends it to float32 if the weights have a smaller type.
  Value loadWeights(Value at) {
    auto type = VectorType::get({e.lanes}, form.rhs.elementType);
    Value loaded = vector::LoadOp::create(b, loc(), type, form.rhs.memref, at);
    return type == vectorType() ? loaded : arith::ExtFOp::create(b, loc(), vectorType(), loaded).getResult();
  }

  void registerTile(Index left, Index right, Index ahead, Index sums, int64_t vectors) {
    Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(vectorType()));
    SmallVector<Value> state(m * vectors, zero);
    auto merge = [&](ValueRange x, ValueRange y) {
      return llvm::map_to_vector(llvm::zip(x, y),
                                 [&](auto pair) { return e.addElements(std::get<0>(pair), std::get<1>(pair)); });
    };
    const BlockedSum sum(e, state, merge);
    unsigned inRight = *graph::resultWith(form.maps[1], form.dims.channels);
    Index step = e.expression(form.rhs.strides[inRight]), stride = e.expression(form.rhs.strides[form.rhs.blockDim]);
    state = sum.nest({DimExpr(channels)}, 1, 1, state, [&](ArrayRef<Index> at, ValueRange carried) {
      SmallVector<Value> next(carried), weights;
      Index along = e.mul(at[0], step);
      auto columnOf = [&](Index panel, int64_t column) {
        Index block = e.mul(e.constant(column / form.rhs.block), stride);
        return e.add(e.add(e.add(panel, along), block), e.constant(column % form.rhs.block)).base;
      };
      for (int64_t column = 0; fetchesAhead && column < vectors * e.lanes; column += lineWeights)
        memref::PrefetchOp::create(b, loc(), form.rhs.memref, columnOf(ahead, column), /*isWrite=*/false,
                                   /*localityHint=*/2, /*isDataCache=*/true);
      for (int64_t j = 0; j < vectors; ++j)
        weights.push_back(loadWeights(columnOf(right, j * e.lanes)));
      for (int64_t r = 0; r < m; ++r) {
        Index from = e.add(left, e.add(at[0], e.constant(r * operandStride)));
        Value scalar = memref::LoadOp::create(b, loc(), memory.memref, from.base);
        Value spread = vector::BroadcastOp::create(b, loc(), vectorType(), scalar);
        for (int64_t j = 0; j < vectors; ++j)
          next[r * vectors + j] = vector::FMAOp::create(b, loc(), spread, weights[j], next[r * vectors + j]);
      }
      return next;
    });
    for (auto [i, value] : llvm::enumerate(state)) {
      int64_t r = int64_t(i) / vectors, j = int64_t(i) % vectors;
      vector::StoreOp::create(b, loc(), value, memory.memref, e.add(sums, e.constant(r * n + j * e.lanes)).base);
    }
  }
};

} // namespace

plan::WinogradAttr chooseWinograd(KernelContext &k) {
  OrReason<WinogradForm> form = winogradForm(k);
  if (form)
    return plan::winogradSchedule(form->op, form->transform->tile, form->rhs.block);
  if (graph::ContractOpInterface op = k.analysis->contraction; op && graph::winogradTile(op->getOperand(1).getType()))
    missedContraction(k, "NoMinimalFiltering", form.why());
  return {};
}

static Dims scratchOf(const WinogradForm &form, plan::WinogradAttr schedule) {
  return {DimExpr(schedule.getSlots()), DimExpr(plan::winogradSlotFloats(schedule, form.transform->tile))};
}

Dims winogradScratch(KernelContext &k, plan::WinogradAttr schedule) {
  OrReason<WinogradForm> form = winogradForm(k);
  return form ? scratchOf(*form, schedule) : Dims();
}

SmallVector<plan::WinogradAttr> winogradCandidates(KernelContext &k) {
  OrReason<WinogradForm> form = winogradForm(k);
  return form ? plan::winogradSchedules(form->op, form->transform->tile, form->rhs.block)
              : SmallVector<plan::WinogradAttr>();
}

LogicalResult verifyWinograd(KernelContext &k, plan::WinogradAttr schedule) {
  OrReason<WinogradForm> form = winogradForm(k);
  if (!form)
    return refuse(k, schedule) << ", but " << form.why();
  int64_t channels = *form->extents[form->dims.channels].constant();
  // The kernel stores full vectors, also past the last channel.
  if (schedule.getStride() < int64_t(llvm::alignTo(channels, schedule.getLanes())))
    return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule with stride " << schedule.getStride()
                                     << ", which is less than " << channels << " channels in full vectors";
  if (failed(verifyLanes(k, schedule.getLanes(), /*mayHalve=*/true)) ||
      failed(verifyPanels(k, schedule.getN(), form->rhs.block)))
    return failure();
  int64_t whole = *form->extents[form->roles.column].constant() / schedule.getN();
  if (plan::sharesColumns(form->op, form->transform->tile, schedule.getBlock(), schedule.getSlots())) {
    if (int64_t(llvm::divideCeil(whole, schedule.getPanels())) != schedule.getSlots())
      return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of one block, but its " << whole
                                       << " full panels do not fill " << schedule.getSlots() << " slots of "
                                       << schedule.getPanels();
  } else if (whole % schedule.getPanels() != 0) {
    return k.kernel.emitOpError("@") << k.kernel.getName() << " has a schedule of " << schedule.getPanels()
                                     << " panels at once, which does not divide the " << whole << " full panels";
  }
  return success();
}

LogicalResult emitWinograd(KernelContext &k, OpBuilder &b, plan::WinogradAttr schedule,
                           const std::optional<Buffer> &memory) {
  if (failed(verifyWinograd(k, schedule)))
    return failure();
  OrReason<WinogradForm> form = winogradForm(k);
  if (failed(verifyScratch(k, scratchOf(*form, schedule), memory)))
    return failure();
  WinogradEmitter(k, b, *form, schedule, *memory).run();
  return success();
}

} // namespace hewn::codegen
