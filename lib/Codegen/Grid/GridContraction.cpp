// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/GridContraction.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

GridContraction::GridContraction(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, int64_t threads)
    : k(k), b(b), tiles(tiles), op(tiles.op), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), grid(k, e, threads),
      iteration(tiles.extents.size(), e.constant(0)), rows(graph::numElements(tiles.dims(tiles.rows))),
      columns(graph::numElements(tiles.dims(tiles.columns))), depth(graph::numElements(tiles.dims(tiles.summed))),
      batch(graph::numElements(tiles.dims(tiles.batch))) {}

void GridContraction::set(ArrayRef<unsigned> list, Index linear) {
  for (auto [d, index] : llvm::zip(list, grid.unravel(linear, tiles.dims(list))))
    iteration[d] = index;
}

Value GridContraction::readOperand(KernelElements &elements, unsigned operand) {
  SmallVector<Index> at = llvm::map_to_vector(tiles.maps[operand].getResults(),
                                              [&](AffineExpr expr) { return elements.affine(expr, iteration); });
  return elements.read(op->getOperand(operand), at);
}

void GridContraction::store(Value sum, Index row, Index column) {
  Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, row, e.expression(rows)),
                              e.compare(arith::CmpIPredicate::slt, column, e.expression(columns)));
  auto branch = scf::IfOp::create(b, loc(), inside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  set(tiles.rows, row);
  set(tiles.columns, column);
  SmallVector<Index> at =
      llvm::map_to_vector(tiles.maps[2].getResults(), [&](AffineExpr expr) { return e.affine(expr, iteration); });
  if (tiles.parts > 1) {
    at.insert(at.begin(), part);
    return e.write(k.outputs[0], at, sum);
  }
  e.bind(op->getResult(0), sum);
  SmallVector<Value> values = llvm::map_to_vector(k.results, [&](Value result) { return e.read(result, at); });
  for (auto [buffer, value] : llvm::zip(k.outputs, values))
    e.write(buffer, at, value);
  e.unbind(op->getResult(0));
}

} // namespace hewn::codegen
