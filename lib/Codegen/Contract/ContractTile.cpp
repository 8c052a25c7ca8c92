// SPDX-License-Identifier: Apache-2.0
//
// One tile: its sums of products, in registers or a matrix unit.
#include "lib/Codegen/Contract/ContractEmitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Clip;
using hewn::graph::DimExpr;
using hewn::graph::Dims;
using hewn::graph::Index;

namespace hewn::codegen {

void ContractEmitter::emitTile(const Panel &panel, const RowVariant &variant, Index first, Index firstRow,
                               std::optional<Index> rest) {
  SmallVector<Index> rows; // from the first one
  for (int64_t r = 0; r < variant.m; ++r) {
    Index row = e.constant(r);
    if (rest && r > 0) // rows past the end repeat the last one, and are not stored
      row = e.min(row, e.sub(*rest, e.constant(1)));
    rows.push_back(row);
  }
  SmallVector<Index> outside(iteration);
  iteration[form.roles.column] = first;
  if (form.tiled)
    iteration[*form.tiled] = firstRow;
  SmallVector<Value> sums = sumOfProducts(panel, variant, rows);
  if (heavy)
    spilledEpilogue(panel, variant, first, firstRow, rest, sums);
  else
    epilogue(panel, rows, first, firstRow, rest, sums);
  iteration = std::move(outside);
}

void ContractEmitter::emitMatrixTile(const Panel &panel, Index firstColumn, Index firstRow, Index fresh) {
  SmallVector<Index> outside(iteration);
  iteration[form.roles.column] = firstColumn;
  iteration[*form.tiled] = firstRow;
  MatrixUnit unit(b, loc(), form.matrix);
  int64_t most = plan::MatrixAttr(form.matrix).getRows(), rows = std::min(m, most);
  int64_t down = m / rows, across = panel.vectors, width = across * e.lanes;
  Index left = offset(form.lhs, form.maps[0], iteration), right = offset(form.rhs, form.maps[1], iteration);
  SmallVector<KLoop> loops = kLoops(plan::MatrixAttr(form.matrix).getDepth());
  Dims counts = llvm::map_to_vector<4>(loops, [](const KLoop &l) { return l.extent; });
  SmallVector<Value> sums;
  for (int64_t i = 0; i < down * across; ++i) // one each: tiles can't be copied
    sums.push_back(unit.zero(rows));
  sums = e.loopNest(counts, sums, 1, [&](ArrayRef<Index> indices, ValueRange carried) {
    Index leftAt = left, rightAt = right;
    for (auto [loop, index] : llvm::zip(loops, indices)) {
      leftAt = e.add(leftAt, e.mul(index, e.expression(loop.left)));
      rightAt = e.add(rightAt, e.mul(index, e.expression(loop.right)));
    }
    SmallVector<Value> next(carried);
    addProducts(unit, across, leftAt, rightAt, next);
    return next;
  });
  Value scratch = scratchOf(m * width);
  for (int64_t i = 0; i < down; ++i)
    for (int64_t j = 0; j < across; ++j)
      unit.store(sums[i * across + j], rows, scratch, e.constant(i * rows * width + j * e.lanes), e.constant(width));
  epilogueFrom(scratch, panel, firstColumn, firstRow, fresh, e.constant(m));
  iteration = std::move(outside);
}

void ContractEmitter::addProducts(MatrixUnit &unit, int64_t across, Index leftAt, Index rightAt,
                                  MutableArrayRef<Value> sums) {
  int64_t most = plan::MatrixAttr(form.matrix).getRows(), rows = std::min(m, most), down = m / rows;
  Index rowStride = e.expression(form.rowStride),
        wordStride = e.constant((packed() ? form.rhs.block : n) * form.group());
  // Beside four tiles of sums there is room for four factors: two by two stay while the next pair has the same term; of one by
  // four the row stays, and columns come again from the first cache.
  bool keepsRight = across <= down;
  std::optional<unsigned> leftTerm, rightTerm;
  SmallVector<Value> lefts(down), rights(across);
  for (auto [l, r] : graph::termPairs(graph::termsOf(op))) {
    for (int64_t i = 0; i < down && leftTerm != l; ++i) {
      Index at = e.add(leftAt, e.mul(e.constant(i * rows), rowStride));
      lefts[i] = unit.load(rows, form.leftTerm(l), at, rowStride);
    }
    for (int64_t j = 0; j < across; ++j) {
      if (rightTerm != r)
        rights[j] = unit.load(most, form.rightTerm(r), e.add(rightAt, rightDistance(j)), wordStride);
      for (int64_t i = 0; i < down; ++i)
        sums[i * across + j] = unit.product(rows, sums[i * across + j], lefts[i], rights[j]);
    }
    leftTerm = l;
    if (keepsRight)
      rightTerm = r;
  }
}

Index ContractEmitter::rightDistance(const Buffer &buffer, int64_t j) {
  int64_t first = j * e.lanes, block = packed() ? form.rhs.block : n;
  if (first < block)
    return e.constant(first * form.group());
  Index stride = e.expression(buffer.strides[buffer.blockDim]);
  return e.add(e.mul(stride, e.constant(first / block)), e.constant(first % block * form.group()));
}

Index ContractEmitter::offset(const Buffer &buffer, AffineMap map, ArrayRef<Index> at, ArrayRef<Clip> clips) {
  Index sum = buffer.start ? Index{buffer.start} : e.constant(0);
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (buffer.dims[i].is(1) && llvm::none_of(clips, [&](const Clip &c) { return c.operandDim == i; }))
      continue;
    Index index = e.affine(expr, at), stride = e.expression(buffer.strides[i]);
    for (const Clip &clip : clips)
      if (clip.operandDim == i)
        index = e.sub(index, e.constant(clip.low));
    if (int64_t(i) == buffer.blockDim) {
      if (n % buffer.block != 0) // a tile may begin inside of a panel
        sum = e.add(sum, e.mul(e.mod(index, e.constant(buffer.block)), e.constant(buffer.group)));
      index = e.floorDiv(index, e.constant(buffer.block));
    }
    if (int64_t(i) == buffer.groupDim)
      index = e.floorDiv(index, e.constant(buffer.group));
    sum = e.add(sum, e.mul(index, stride));
  }
  return sum;
}

Value ContractEmitter::from(const Buffer &buffer, Value memref, Index start) {
  auto type = MemRefType::get({ShapedType::kDynamic}, cast<MemRefType>(memref.getType()).getElementType(),
                              StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}));
  // Nobody reads the size; a dynamic one promises nothing about the accesses.
  OpFoldResult size = e.expression(graph::numElements(buffer.dims)).base;
  return memref::ReinterpretCastOp::create(b, loc(), type, memref, OpFoldResult(start.base),
                                           ArrayRef<OpFoldResult>{size}, ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
}

SmallVector<ContractEmitter::KLoop> ContractEmitter::kLoops(int64_t step) {
  SmallVector<KLoop> loops;
  SmallVector<unsigned> order;
  for (unsigned d : form.roles.summed)
    if (llvm::none_of(form.clips, [&](const Clip &c) { return c.summed == d; }))
      order.push_back(d);
  SmallVector<int64_t> memory = memoryOrder(op->getOperand(1));
  auto place = [&](unsigned d) {
    std::optional<unsigned> result = graph::resultWith(form.maps[1], d);
    return result ? llvm::find(memory, int64_t(*result)) - memory.begin() : 0;
  };
  llvm::stable_sort(order, [&](unsigned x, unsigned y) { return place(x) < place(y); });
  for (unsigned d : order) {
    if (form.extents[d].is(1))
      continue;
    KLoop loop{form.extents[d], ContractForm::strideAlong(form.lhs, form.maps[0], d),
               ContractForm::strideAlong(form.rhs, form.maps[1], d)};
    if (form.grouped == d) // the right operand's stride is a group's already
      loop = {loop.extent.floorDiv(step), loop.left * DimExpr(step), loop.right * DimExpr(step / form.group())};
    if (!loops.empty() && loops.back().left == loop.left * loop.extent &&
        loops.back().right == loop.right * loop.extent) {
      loop.extent = loop.extent * loops.back().extent;
      loops.back() = loop;
    } else {
      loops.push_back(loop);
    }
  }
  return loops;
}

SmallVector<Value> ContractEmitter::sumOfProducts(const Panel &panel, const RowVariant &variant, ArrayRef<Index> rows) {
  Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(sumType()));
  SmallVector<Value> sums(variant.m * panel.vectors, zero);
  if (form.code)
    return codedProducts(panel, rows, std::move(sums));
  SmallVector<const Clip *> loops;
  for (const Clip &clip : form.clips)
    if (&clip != form.tiledClip())
      loops.push_back(&clip);
  for (auto terms : graph::termPairs(graph::termsOf(op))) {
    pair = terms;
    sums = clippedLoops(loops, panel, variant, rows, std::move(sums));
  }
  return sums;
}

SmallVector<Value> ContractEmitter::clippedLoops(ArrayRef<const Clip *> loops, const Panel &panel,
                                                 const RowVariant &variant, ArrayRef<Index> rows,
                                                 SmallVector<Value> sums) {
  if (loops.empty()) {
    const Clip *clip = form.tiledClip();
    if (!clip)
      return innerLoops(panel, {}, rows, std::move(sums));
    Index outside = iteration[clip->summed];
    for (int64_t w = 0; w < *form.extents[clip->summed].constant(); ++w) {
      SmallVector<bool> inside(variant.m, true);
      if (!variant.inside.empty())
        inside = variant.inside[w];
      if (llvm::none_of(inside, [](bool is) { return is; }))
        continue;
      iteration[clip->summed] = e.constant(w);
      sums = innerLoops(panel, inside, rows, std::move(sums));
    }
    iteration[clip->summed] = outside;
    return sums;
  }
  // row * stride + w * dilation - low in [0, extent)
  const Clip &clip = *loops.front();
  Index start = e.sub(e.mul(iteration[clip.row], e.constant(clip.stride)), e.constant(clip.low));
  Index dilation = e.constant(clip.dilation), up = e.constant(clip.dilation - 1);
  Index low = e.max(e.floorDiv(e.sub(up, start), dilation), e.constant(0));
  Index high = e.min(e.floorDiv(e.add(e.sub(e.expression(clip.extent), start), up), dilation),
                     e.expression(form.extents[clip.summed]));
  auto loop = scf::ForOp::create(b, loc(), low.base, high.base, e.constant(1).base, sums);
  Index outside = iteration[clip.summed];
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    e.forget();
    iteration[clip.summed] = {loop.getInductionVar()};
    SmallVector<Value> carried(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    scf::YieldOp::create(b, loc(), clippedLoops(loops.drop_front(), panel, variant, rows, std::move(carried)));
    iteration[clip.summed] = outside;
  }
  e.forget();
  return llvm::to_vector(llvm::map_range(loop.getResults(), [](OpResult r) { return Value(r); }));
}

SmallVector<Index> ContractEmitter::rowDistances(ArrayRef<Index> rows, int64_t base) {
  return llvm::map_to_vector(
      rows, [&](const Index &row) { return e.mul(e.sub(row, rows[base]), e.expression(form.rowStride)); });
}

Value ContractEmitter::spreadScalar(Value left, Index position, VectorType type) {
  if (!form.dot)
    return vector::BroadcastOp::create(b, loc(), type, memref::LoadOp::create(b, loc(), left, position.base));
  auto group = VectorType::get({form.group()}, cast<MemRefType>(left.getType()).getElementType());
  auto word = VectorType::get({1}, b.getI32Type());
  Value bits = vector::BitCastOp::create(b, loc(), word, vector::LoadOp::create(b, loc(), group, left, position.base));
  bits = vector::ExtractOp::create(b, loc(), bits, ArrayRef<int64_t>{0});
  bits = vector::BroadcastOp::create(b, loc(), VectorType::get({e.lanes}, b.getI32Type()), bits);
  return vector::BitCastOp::create(b, loc(), type, bits);
}

int64_t ContractEmitter::stepsInLine(ArrayRef<KLoop> loops, Type leftType) {
  plan::TargetAttr target = plan::targetOf(k.kernel);
  if (!target || !target.getLanesAsFactors() || form.roles.columnInLeft || loops.empty())
    return 1;
  int64_t word = sumType().getElementTypeBitWidth(), steps = target.getVectorBytes() * 8 / word;
  const KLoop &last = loops.back();
  bool fits = leftType.getIntOrFloatBitWidth() * form.group() == word && last.left.is(form.group());
  return fits && steps > 1 && last.extent.constant().value_or(1) % steps == 0 ? steps : 1;
}

Value ContractEmitter::lineOfFactors(Value left, Index position, int64_t steps) {
  auto type = VectorType::get({steps * form.group()}, cast<MemRefType>(left.getType()).getElementType());
  Value line = vector::LoadOp::create(b, loc(), type, left, position.base);
  auto words = VectorType::get({steps}, sumType().getElementType());
  return type == words ? line : vector::BitCastOp::create(b, loc(), words, line).getResult();
}

Value ContractEmitter::factorInLine(Value line, int64_t step, VectorType type) {
  Value factor = vector::ExtractOp::create(b, loc(), line, ArrayRef<int64_t>{step});
  auto words = VectorType::get({e.lanes}, factor.getType());
  factor = vector::BroadcastOp::create(b, loc(), words, factor);
  return words == type ? factor : vector::BitCastOp::create(b, loc(), type, factor).getResult();
}

std::pair<Index, Index> ContractEmitter::offsetsAt(ArrayRef<KLoop> loops, ArrayRef<Index> indices, int64_t steps) {
  Index left = e.constant(0), right = e.constant(0);
  for (auto [i, loop, index] : llvm::enumerate(loops, indices)) {
    DimExpr factor(i + 1 == loops.size() ? steps : 1);
    left = e.add(left, e.mul(index, e.expression(loop.left * factor)));
    right = e.add(right, e.mul(index, e.expression(loop.right * factor)));
  }
  return {left, right};
}

Value ContractEmitter::channelOfGroups(Value channels, int64_t channel) {
  int64_t perGroup = form.roles.perGroup;
  if (perGroup == 1)
    return channels;
  auto places =
      llvm::map_to_vector(llvm::seq(e.lanes), [&](int64_t lane) { return lane / perGroup * perGroup + channel; });
  return vector::ShuffleOp::create(b, loc(), channels, channels, places);
}

Value ContractEmitter::product(Value x, Value y, Value sum) {
  bool isFloat = isa<FloatType>(sumType().getElementType());
  if (!form.dot) {
    if (isFloat)
      return vector::FMAOp::create(b, loc(), x, y, sum);
    return arith::AddIOp::create(b, loc(), arith::MulIOp::create(b, loc(), x, y), sum);
  }
  plan::DotAttr dot = form.dot;
  SmallVector<Value> operands = {x, y};
  if (dot.getRightFirst())
    std::swap(operands[0], operands[1]);
  if (dot.getAccumulates())
    operands.insert(operands.begin(), sum);
  Value result = LLVM::CallIntrinsicOp::create(b, loc(), sum.getType(), dot.getIntrinsic(), operands).getResult(0);
  if (dot.getAccumulates())
    return result;
  return isFloat ? arith::AddFOp::create(b, loc(), result, sum).getResult()
                 : arith::AddIOp::create(b, loc(), result, sum).getResult();
}

std::optional<ContractEmitter::Ahead> ContractEmitter::fetchAhead(ArrayRef<DimExpr> counts) {
  constexpr int64_t fewest = 4;
  if (!packed() || !form.tiled || !form.clips.empty() || counts.size() != 1 || n % form.rhs.block != 0)
    return std::nullopt;
  std::optional<int64_t> rows = form.rows.constant(), depth = counts[0].constant(), width = columns.constant(),
                         stride = form.rhs.strides[form.rhs.blockDim].constant();
  plan::TargetAttr target = plan::targetOf(k.kernel);
  if (!rows || !depth || !width || !stride || !target || !isa<BlockArgument>(op->getOperand(1)))
    return std::nullopt;
  int64_t tiles = llvm::divideCeil(*rows, m), panels = llvm::divideCeil(*width, n);
  int64_t panel = *stride * (n / form.rhs.block), bytes = graph::elementBytes(op->getOperand(1));
  if (tiles < fewest || panels * panel * bytes <= target.getL2Bytes())
    return std::nullopt;
  int64_t step = llvm::divideCeil(panel, tiles * *depth);
  Index tile = e.floorDiv(iteration[*form.tiled], e.constant(m));
  Index isLast = e.floorDiv(e.add(iteration[form.roles.column], e.constant(n)), e.constant(panels * n)); // 0 or 1
  Index next = e.mul(e.sub(e.constant(1), isLast), e.constant(panel));
  return Ahead{e.add(next, e.mul(tile, e.constant(*depth * step))), step, step * bytes,
               plan::costsOf(k.kernel).getLineBytes()};
}

/// The greatest divisor of `extent` up to `most`.
static int64_t greatestDivisor(int64_t extent, int64_t most) {
  while (extent % most != 0)
    --most;
  return most;
}

SmallVector<Value>
ContractEmitter::chainsOfSums(ArrayRef<DimExpr> counts, int64_t steps, SmallVector<Value> sums,
                              llvm::function_ref<SmallVector<Value>(ArrayRef<Index>, ValueRange)> products) {
  // A float loses up to half a last digit in each addition to a larger one.
  const int64_t longest = 8192 / steps, shortest = 256 / steps, unrollLimit = std::max<int64_t>(4 / steps, 1);
  size_t first = counts.size();
  int64_t chain = 1;
  for (; first > 0 && counts[first - 1].constant() && *counts[first - 1].constant() <= longest / chain; --first)
    chain *= std::max<int64_t>(*counts[first - 1].constant(), 1);
  bool known = llvm::all_of(counts, [](const DimExpr &count) { return count.constant().has_value(); });
  if (first == 0 || !known || !isa<FloatType>(sumType().getElementType()))
    return e.loopNest(counts, sums, unrollLimit, products);
  Dims outer(counts.take_front(first)), inner(counts.drop_front(first));
  bool cuts = inner.empty();
  if (cuts) {
    int64_t extent = *outer.back().constant(), block = greatestDivisor(extent, longest);
    if (block < shortest)
      return e.loopNest(counts, sums, unrollLimit, products);
    outer.back() = DimExpr(extent / block);
    inner.push_back(DimExpr(block));
  }
  return chainsOfSums(outer, inner, cuts, unrollLimit, sums, products);
}

SmallVector<Value>
ContractEmitter::chainsOfSums(ArrayRef<DimExpr> outer, ArrayRef<DimExpr> inner, bool cuts, int64_t unrollLimit,
                              SmallVector<Value> sums,
                              llvm::function_ref<SmallVector<Value>(ArrayRef<Index>, ValueRange)> products) {
  Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(sumType()));
  return e.loopNest(outer, sums, 1, [&](ArrayRef<Index> at, ValueRange carried) {
    SmallVector<Value> chains(carried.size(), zero);
    chains = e.loopNest(inner, chains, unrollLimit, [&](ArrayRef<Index> within, ValueRange next) {
      SmallVector<Index> indices(at);
      if (cuts) // both run over the same dim
        indices.back() = e.add(e.mul(at.back(), e.expression(inner.back())), within.back());
      else
        llvm::append_range(indices, within);
      return products(indices, next);
    });
    return llvm::map_to_vector(llvm::zip(carried, chains), [&](auto pair) -> Value {
      return arith::AddFOp::create(b, loc(), std::get<0>(pair), std::get<1>(pair));
    });
  });
}

SmallVector<Value> ContractEmitter::innerLoops(const Panel &panel, ArrayRef<bool> inside, ArrayRef<Index> rows,
                                               SmallVector<Value> sums) {
  // A lane holds one element of the sums' type or a group of narrower ones.
  int64_t width = form.group();
  auto stored = [](const Buffer &buffer) { return cast<MemRefType>(buffer.memref.getType()).getElementType(); };
  auto leftType = VectorType::get({e.lanes * width}, stored(form.lhs));
  auto vectorType = VectorType::get({e.lanes * width}, stored(form.rhs));
  bool shared = form.roles.columnInLeft;
  // Distances count from the first row that is read: the ones before it may lie outside of the operand.
  int64_t base = 0;
  while (!inside.empty() && !inside[base])
    ++base;
  SmallVector<Index> at(iteration);
  if (form.tiled)
    at[*form.tiled] = e.add(at[*form.tiled], rows[base]);
  Value left = from(form.lhs, form.leftTerm(pair.first), offset(form.lhs, form.maps[0], at, form.clips));
  Value right = from(form.rhs, form.rightTerm(pair.second), offset(form.rhs, form.maps[1], iteration));
  SmallVector<Index> distance = rowDistances(rows, base);
  SmallVector<KLoop> loops = kLoops(form.group());
  Dims counts = llvm::map_to_vector<4>(loops, [](const KLoop &l) { return l.extent; });
  std::optional<Ahead> ahead = fetchAhead(counts);
  int64_t steps = stepsInLine(loops, stored(form.lhs));
  if (steps > 1)
    counts.back() = DimExpr(*counts.back().constant() / steps);
  bool widens = graph::widensRight(form.op);
  Index channelStride = e.constant(0);
  if (form.roles.within)
    channelStride = e.expression(ContractForm::strideAlong(form.rhs, form.maps[1], *form.roles.within));
  auto load = [&](Value memref, Index position, int64_t j, bool mayPass) -> Value {
    Value address = position.base, loaded;
    if (mayPass || !panel.masks[j]) {
      loaded = vector::LoadOp::create(b, loc(), vectorType, memref, address);
    } else {
      Value zero = arith::ConstantOp::create(b, loc(), b.getZeroAttr(vectorType));
      loaded = vector::MaskedLoadOp::create(b, loc(), vectorType, memref, address, panel.masks[j], zero);
    }
    return widens ? arith::ExtFOp::create(b, loc(), sumType(), loaded).getResult() : loaded;
  };
  auto products = [&](ArrayRef<Index> indices, ValueRange carried) {
    auto [leftOffset, rightOffset] = offsetsAt(loops, indices, steps);
    SmallVector<Value> next(carried), lines(rows.size());
    for (int64_t step = 0; step < steps; ++step) {
      if (step > 0)
        rightOffset = e.add(rightOffset, e.expression(loops.back().right));
      if (ahead && ahead->asksAt(step)) {
        Index at = e.add(e.mul(indices.back(), e.constant(steps)), e.constant(step));
        Index place = e.add(ahead->first, e.mul(at, e.constant(ahead->step)));
        memref::PrefetchOp::create(b, loc(), right, ValueRange(place.base), /*isWrite=*/false, /*localityHint=*/2,
                                   /*isDataCache=*/true);
      }
      SmallVector<Value> vectors;
      for (int64_t channel = 0; channel < form.roles.perGroup; ++channel)
        for (int64_t j = 0; j < panel.vectors; ++j) { // packed panels are padded with zeros
          Index distance = e.add(rightDistance(j), e.mul(e.constant(channel), channelStride));
          vectors.push_back(load(right, e.add(rightOffset, distance), j, packed()));
        }
      for (size_t r = 0; r < rows.size(); ++r) {
        if (!inside.empty() && !inside[r])
          continue;
        Index position = e.add(leftOffset, distance[r]);
        Value spread;
        if (steps > 1 && step == 0)
          lines[r] = lineOfFactors(left, position, steps);
        if (!shared)
          spread = steps > 1 ? factorInLine(lines[r], step, leftType) : spreadScalar(left, position, leftType);
        for (int64_t j = 0; j < panel.vectors; ++j) {
          Value &sum = next[r * panel.vectors + j];
          Value factor = shared ? load(left, e.add(position, e.constant(j * e.lanes)), j, false) : spread;
          for (int64_t channel = 0; channel < form.roles.perGroup; ++channel)
            sum = product(channelOfGroups(factor, channel), vectors[channel * panel.vectors + j], sum);
        }
      }
    }
    return next;
  };
  if (!shared || counts.empty())
    return chainsOfSums(counts, steps, sums, products);
  // The innermost window of channels is short: straight code lets neighbouring rows share what they load.
  return e.loopNest(ArrayRef(counts).drop_back(), sums, 1, [&](ArrayRef<Index> outer, ValueRange carried) {
    return e.loopNest(counts.back(), carried, 16, [&](ArrayRef<Index> last, ValueRange inner) {
      SmallVector<Index> indices(outer);
      indices.push_back(last[0]);
      return products(indices, inner);
    });
  });
}

} // namespace hewn::codegen
