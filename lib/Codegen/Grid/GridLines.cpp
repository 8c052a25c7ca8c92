// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/GridLines.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::DimExpr;
using hewn::graph::Index;

namespace hewn::codegen {

ChainProduct::ChainProduct(graph::ContractOpInterface op)
    : op(op), maps(op.getIndexingMaps()), extents(op.getIterationDims(graph::getDims)),
      summed(*graph::plainSummedDim(op, *graph::contractRoles(op))) {}

SmallVector<Index> ChainProduct::place(KernelElements &e, unsigned operand, ArrayRef<Index> result, Index inSum) const {
  SmallVector<Index> iteration(extents.size(), e.constant(0));
  for (unsigned d = 0; d < extents.size(); ++d)
    if (std::optional<unsigned> there = graph::resultWith(maps[2], d))
      iteration[d] = result[*there];
  iteration[summed] = inSum;
  return llvm::map_to_vector(maps[operand].getResults(), [&](AffineExpr expr) { return e.affine(expr, iteration); });
}

namespace {

/// Tells where an element of a buffer is.
class Places : public KernelElements {
public:
  using KernelElements::KernelElements;
  Index of(const Buffer &buffer, ArrayRef<Index> at) { return offset(buffer, at); }
};

} // namespace

GridLines::GridLines(KernelFunction &k, KernelElements &e, Grid &grid, const ChainProduct &product, Line line,
                     const DimExpr &lines, int64_t extent, int64_t room)
    : k(k), e(e), grid(grid), product(product), kind(line), lines(lines), extent(extent), room(room),
      padded((extent + 7) / 8 * 8) {
  chooseCopies();
  memory = grid.shared(room * step(), e.b.getF32Type());
}

Value GridLines::operand() const { return product.op->getOperand(kind == Line::Row ? 0 : 1); }

SmallVector<Index> GridLines::placeOf(ArrayRef<Index> batch, Index line, Index inner) {
  SmallVector<Index> result(batch);
  result.push_back(kind == Line::Row ? line : e.constant(0));
  result.push_back(kind == Line::Column ? line : kind == Line::Summed ? inner : e.constant(0));
  return product.place(e, kind == Line::Row ? 0 : 1, result, kind == Line::Summed ? line : inner);
}

/// By how the operand lies in memory.
void GridLines::chooseCopies() {
  auto found = k.inputs.find(operand());
  if (found == k.inputs.end() || !found->second.elementType.isF32())
    return;
  const Buffer &buffer = found->second;
  each = 1;
  AffineMap map = product.maps[kind == Line::Row ? 0 : 1], result = product.maps[2];
  unsigned rank = result.getNumResults();
  auto dimOf = [&](unsigned position) { // of the result, in the operand
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
  for (int64_t count : {4, 2}) {
    bool fits = extent % count == 0;
    for (auto [d, stride] : llvm::enumerate(buffer.strides))
      fits &= d == *inner || buffer.dims[d].is(1) || stride.divideExactly(DimExpr(count)).has_value();
    if (fits) {
      each = count;
      return;
    }
  }
}

void GridLines::bring(ArrayRef<Index> batch, Index first) {
  OpBuilder &b = e.b;
  int64_t count = std::max<int64_t>(each, 1), inLine = padded / count, pieces = room * inLine;
  Index size = e.constant(4);
  auto piece = [&](int64_t part) {
    Index linear = e.add({grid.thread}, e.constant(part * grid.threads));
    Index run = e.constant(linesFirst ? room : inLine);
    Index slow = e.floorDiv(linear, run), fast = e.mod(linear, run);
    Index inRoom = linesFirst ? fast : slow, inner = e.mul(linesFirst ? slow : fast, e.constant(count));
    Index line = e.add(first, inRoom);
    Value inside = e.compare(arith::CmpIPredicate::slt, line, e.expression(lines));
    if (padded != extent)
      inside = e.logicalAnd(inside, e.compare(arith::CmpIPredicate::slt, inner, e.constant(extent)));
    SmallVector<Index> from = placeOf(batch, line, inner);
    Index to = e.add(e.mul(inRoom, e.constant(step())), inner);
    if (each) {
      const Buffer &buffer = k.inputs.find(operand())->second;
      Index place = Places(b, e.loc, /*lanes=*/0, k.symbols, k.inputs).of(buffer, from);
      return grid.copy(e.add(grid.address(memory), e.mul(to, size)),
                       e.add(grid.address(buffer.memref), e.mul(place, size)), 4 * each, inside);
    }
    e.forget();
    auto branch = scf::IfOp::create(b, e.loc, b.getF32Type(), inside, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, e.loc, e.read(operand(), from));
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, e.loc, e.constantElement(b.getF32Type(), 0));
    }
    e.forget();
    grid.storeShared(branch.getResult(0), memory, to.base);
  };
  for (int64_t part = 0; part * grid.threads < pieces; ++part) {
    int64_t rest = pieces - part * grid.threads;
    if (rest >= grid.threads) {
      piece(part);
      continue;
    }
    Value has = e.compare(arith::CmpIPredicate::slt, {grid.thread}, e.constant(rest));
    auto branch = scf::IfOp::create(b, e.loc, has, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    e.forget();
    piece(part);
    e.forget();
  }
  grid.closeCopies();
}

Value GridLines::at(Index line, Index inner) {
  Index place = e.add(e.mul(line, e.constant(step())), inner);
  return grid.loadShared(e.b.getF32Type(), memory, place.base);
}

} // namespace hewn::codegen
