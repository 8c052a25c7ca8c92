// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Kernels/Attention/AttentionTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

AttentionGemm::AttentionGemm(graph::ContractOpInterface op)
    : op(op), maps(op.getIndexingMaps()), extents(op.getIterationDims(graph::getDims)),
      summed(*graph::plainSummedDim(op, *graph::contractRoles(op))) {}

SmallVector<Index> AttentionGemm::place(ElementEmitter &e, unsigned operand, ArrayRef<Index> result,
                                        Index inSum) const {
  SmallVector<Index> iteration(extents.size(), e.constant(0));
  for (unsigned d = 0; d < extents.size(); ++d)
    if (std::optional<unsigned> there = graph::resultWith(maps[2], d))
      iteration[d] = result[*there];
  iteration[summed] = inSum;
  return llvm::map_to_vector(maps[operand].getResults(), [&](AffineExpr expr) { return e.affine(expr, iteration); });
}

namespace {

/// Gives access to ElementEmitter's linear index of a buffer's element.
class Places : public ElementEmitter {
public:
  using ElementEmitter::ElementEmitter;
  Index of(const Buffer &buffer, ArrayRef<Index> at) { return offset(buffer, at); }
};

} // namespace

AttentionTile::AttentionTile(KernelContext &k, ElementEmitter &e, GpuBuilder &gpu, const AttentionGemm &product,
                             Line line, const DimExpr &lines, int64_t extent, int64_t room, Type factors)
    : k(k), e(e), gpu(gpu), product(product), kind(line), lines(lines), extent(extent), room(room),
      padded(factors.isF32() ? (extent + 7) / 8 * 8 : (extent + 15) / 16 * 16), factors(factors) {
  chooseHow();
  memory = gpu.shared(room * step(), factors);
}

Value AttentionTile::operand() const { return product.op->getOperand(kind == Line::Row ? 0 : 1); }

SmallVector<Index> AttentionTile::placeOf(ArrayRef<Index> batch, Index line, Index inner) {
  SmallVector<Index> result(batch);
  result.push_back(kind == Line::Row ? line : e.constant(0));
  result.push_back(kind == Line::Column ? line : kind == Line::Summed ? inner : e.constant(0));
  return product.place(e, kind == Line::Row ? 0 : 1, result, kind == Line::Summed ? line : inner);
}

bool AttentionTile::isWhole() const { return !graph::getElementType(operand()).isF32(); }

/// Chooses how an attention operand (q, k or v) is staged in shared memory, by the operand's layout
/// in global memory.
void AttentionTile::chooseHow() {
  auto found = k.inputs.find(operand());
  if (found == k.inputs.end())
    return;
  const Buffer &buffer = found->second;
  bool narrow = buffer.elementType.isF16() || buffer.elementType.isBF16();
  if (!narrow && !buffer.elementType.isF32())
    return;
  // The operand is copied by single elements unless vectors are possible.
  if (buffer.elementType.isF32() && factors.isF32())
    how = How::Copied;
  AffineMap map = product.maps[kind == Line::Row ? 0 : 1], result = product.maps[2];
  unsigned rank = result.getNumResults();
  auto dimOf = [&](unsigned position) { // the operand's dim that corresponds to a dim of the result
    for (unsigned d = 0; d < product.extents.size(); ++d)
      if (graph::resultWith(result, d) == position)
        return graph::resultWith(map, d);
    return std::optional<unsigned>();
  };
  std::optional<unsigned> summed = graph::resultWith(map, product.summed);
  std::optional<unsigned> line = kind == Line::Row ? dimOf(rank - 2) : kind == Line::Column ? dimOf(rank - 1) : summed;
  std::optional<unsigned> inner = kind == Line::Summed ? dimOf(rank - 1) : summed;
  bool plain = buffer.blockDim < 0 && buffer.groupDim < 0 && !buffer.start;
  if (!plain || !inner)
    return;
  linesFirst = line && buffer.strides[*line].is(1) && !buffer.strides[*inner].is(1);
  if (!buffer.strides[*inner].is(1))
    return;
  for (int64_t count : {8, 4, 2}) {
    bool fits = extent % count == 0 && (narrow || count <= 4);
    for (auto [d, stride] : llvm::enumerate(buffer.strides))
      fits &= d == *inner || buffer.dims[d].is(1) || stride.divideExactly(DimExpr(count)).has_value();
    if (!fits)
      continue;
    each = count;
    innerDim = *inner;
    how = buffer.elementType == factors ? How::Copied : How::Loaded;
    return;
  }
}

AttentionTile::Chunk AttentionTile::chunkAt(int64_t part, Index first) {
  int64_t length = linesFirst ? room : padded / each, before = part * gpu.threads;
  Index linear = e.add({gpu.thread}, e.constant(before)), run = e.constant(length);
  // If a thread's chunks are a multiple of the row length apart, they are in the same column, and
  // all their addresses are constant distances from one address.
  bool regular = before % length == 0;
  Index slow = regular ? e.add(e.floorDiv({gpu.thread}, run), e.constant(before / length)) : e.floorDiv(linear, run);
  Index fast = e.mod(regular ? Index{gpu.thread} : linear, run);
  Chunk chunk;
  Index inRoom = linesFirst ? fast : slow;
  chunk.inner = e.mul(linesFirst ? slow : fast, e.constant(each));
  chunk.line = e.add(first, inRoom);
  chunk.to = e.add(e.mul(inRoom, e.constant(step())), chunk.inner);
  chunk.inside = hasLine(first, inRoom, regular && !linesFirst ? before / length : 0);
  if (padded != extent)
    chunk.inside = e.logicalAnd(chunk.inside, e.compare(arith::CmpIPredicate::slt, chunk.inner, e.constant(extent)));
  if (chunks() - part * gpu.threads < gpu.threads)
    chunk.has = e.compare(arith::CmpIPredicate::slt, linear, e.constant(chunks()));
  return chunk;
}

Value AttentionTile::hasLine(Index first, Index inRoom, int64_t fixed) {
  Index all = e.expression(lines);
  if (lines.divideExactly(DimExpr(room))) // either all rows of the tile exist, or none
    return e.compare(arith::CmpIPredicate::slt, first, all);
  // To check whether a row exists, compare indices within the tile, which fit 32 bits. Each chunk
  // then needs one comparison with a constant.
  OpBuilder &b = e.b;
  auto narrow = [&](Index index) -> Value { return arith::IndexCastOp::create(b, e.loc, b.getI32Type(), index.base); };
  Value rest = narrow(e.max(e.min(e.sub(all, first), e.constant(room)), e.constant(0)));
  Value own = narrow(e.sub(inRoom, e.constant(fixed)));
  return arith::CmpIOp::create(b, e.loc, arith::CmpIPredicate::sgt, arith::SubIOp::create(b, e.loc, rest, own),
                               arith::ConstantOp::create(b, e.loc, b.getI32IntegerAttr(int32_t(fixed))));
}

/// Emits `body` in a branch on `has`, or without a branch if `has` is null.
void AttentionTile::where(Value has, llvm::function_ref<void()> body) {
  if (!has)
    return body();
  auto branch = scf::IfOp::create(e.b, e.loc, has, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  e.forget();
  body();
  e.forget();
}

/// Loads the elements of a chunk, or zeros if the chunk is out of range.
Value AttentionTile::load(const Chunk &chunk, ArrayRef<Index> from) {
  OpBuilder &b = e.b;
  Type type = how == How::Loaded ? Type(VectorType::get({each}, b.getF32Type())) : Type(b.getF32Type());
  Value inside = chunk.has ? e.logicalAnd(chunk.inside, chunk.has) : chunk.inside;
  e.forget();
  auto branch = scf::IfOp::create(b, e.loc, type, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  if (how == How::Loaded) {
    SmallVector<Index> vector(from);
    vector[innerDim].stride = 1;
    ElementEmitter wide(b, e.loc, each, k.symbols, k.inputs);
    Value loaded = wide.load(k.inputs.find(operand())->second, vector);
    branch.thenBlock()->walk([&](vector::LoadOp load) { load.setAlignment(2 * each); });
    scf::YieldOp::create(b, e.loc, loaded);
  } else {
    scf::YieldOp::create(b, e.loc, e.read(operand(), from));
  }
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, e.loc, Value(arith::ConstantOp::create(b, e.loc, b.getZeroAttr(type))));
  e.forget();
  return branch.getResult(0);
}

SmallVector<Value> AttentionTile::bring(ArrayRef<Index> batch, Index first) {
  SmallVector<Value> values;
  for (int64_t part = 0; part * gpu.threads < chunks(); ++part) {
    Chunk chunk = chunkAt(part, first);
    SmallVector<Index> from = placeOf(batch, chunk.line, chunk.inner);
    if (how != How::Copied) {
      values.push_back(load(chunk, from));
      continue;
    }
    where(chunk.has, [&] {
      Index size = e.constant(elementBytes());
      const Buffer &buffer = k.inputs.find(operand())->second;
      Index place = Places(e.b, e.loc, /*lanes=*/0, k.symbols, k.inputs).of(buffer, from);
      gpu.copy(e.add(gpu.address(memory), e.mul(chunk.to, size)), e.add(gpu.address(buffer.memref), e.mul(place, size)),
               elementBytes() * each, chunk.inside);
    });
  }
  gpu.closeCopies();
  return values;
}

void AttentionTile::put(ArrayRef<Value> values) {
  for (auto [part, value] : llvm::enumerate(values)) {
    Value element = value;
    Chunk chunk = chunkAt(int64_t(part), e.constant(0));
    where(chunk.has, [&] {
      if (isa<VectorType>(element.getType()))
        vector::StoreOp::create(e.b, e.loc, element, memory, chunk.to.base, /*nontemporal=*/false,
                                llvm::MaybeAlign(std::min<int64_t>(16, 4 * each)));
      else
        gpu.storeShared(isNarrow() ? Value(arith::TruncFOp::create(e.b, e.loc, factors, element)) : element, memory,
                        chunk.to.base);
    });
  }
}

Value AttentionTile::at(Index line, Index inner) {
  Index place = e.add(e.mul(line, e.constant(step())), inner);
  return gpu.loadShared(e.b.getF32Type(), memory, place.base);
}

SmallVector<Value> AttentionTile::matrices(Index line, int64_t further, int64_t inner, Order order, bool turned) {
  constexpr int64_t side = 8;
  Index lane = e.mod({gpu.thread}, e.constant(gpu.warp)), eight = e.constant(side), two = e.constant(2);
  Index own = e.mod(lane, eight), number = e.floorDiv(lane, eight);
  Index odd = e.mod(number, two), later = e.floorDiv(number, two);
  bool linesFirst = order == Order::LinesFirst;
  line = e.add(line, e.add(own, e.mul(linesFirst ? odd : later, eight)));
  Index place = e.add(e.mul(line, e.constant(step())), e.mul(linesFirst ? later : odd, eight));
  // Pass the constant part of a matrix's offset separately, so that loads at constant distances
  // share an address.
  return gpu.ldmatrix(e.add(gpu.address(memory), e.mul(place, e.constant(elementBytes()))), turned,
                      (further * step() + inner) * elementBytes());
}

} // namespace hewn::codegen
