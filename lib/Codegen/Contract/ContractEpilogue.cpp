// SPDX-License-Identifier: Apache-2.0
//
// What is done with the sums of a tile: the kernel's other ops, and the stores.
#include "lib/Codegen/Contract/ContractEmitter.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

SmallVector<Index> ContractEmitter::resultIndex(Index column, Index row) {
  SmallVector<Index> point(iteration);
  point[form.roles.column] = column;
  if (form.tiled)
    point[*form.tiled] = row;
  return llvm::map_to_vector(form.maps[2].getResults(), [&](AffineExpr x) { return e.affine(x, point); });
}

void ContractEmitter::epilogue(const Panel &panel, ArrayRef<Index> rows, Index firstColumn, Index firstRow,
                               std::optional<Index> rest, ArrayRef<Value> sums) {
  struct Store {
    unsigned output;
    SmallVector<Index> at;
    Value element, mask;
  };
  SmallVector<Store> stores;
  for (auto [r, row] : llvm::enumerate(rows))
    for (int64_t j = 0; j < panel.vectors; ++j) {
      SmallVector<Index> at = resultIndex(e.add(firstColumn, {e.constant(j * e.lanes).base, 1}), e.add(firstRow, row));
      e.setMask(panel.masks[j]);
      e.bind(op->getResult(0), sums[r * panel.vectors + j]);
      for (auto [o, result] : llvm::enumerate(k.results))
        stores.push_back({unsigned(o), at, e.read(result, at), panel.masks[j]});
    }
  // A repeated row is not written: where the result lies over an operand it may have seen its own.
  size_t each = stores.size() / rows.size();
  for (size_t r = 0; r < rows.size(); ++r) {
    OpBuilder::InsertionGuard guard(b);
    if (rest && r > 0) {
      Value exists = e.compare(arith::CmpIPredicate::slt, e.constant(int64_t(r)), *rest);
      b.setInsertionPointToStart(scf::IfOp::create(b, loc(), exists, /*withElseRegion=*/false).thenBlock());
      e.forget();
    }
    for (const Store &store : ArrayRef(stores).slice(r * each, each)) {
      e.setMask(store.mask);
      e.write(k.outputs[store.output], store.at, store.element);
    }
    if (rest && r > 0)
      e.forget();
  }
  e.setMask({});
  e.unbind(op->getResult(0));
}

void ContractEmitter::spilledEpilogue(const Panel &panel, const RowVariant &variant, Index firstColumn, Index firstRow,
                                      std::optional<Index> rest, ArrayRef<Value> sums) {
  Value scratch = scratchOf(variant.m * panel.vectors * e.lanes);
  for (auto [i, sum] : llvm::enumerate(sums))
    vector::StoreOp::create(b, loc(), sum, scratch, e.constant(int64_t(i) * e.lanes).base);
  Index count = e.constant(variant.m);
  if (rest)
    count = e.min(count, *rest);
  epilogueFrom(scratch, panel, firstColumn, firstRow, e.constant(0), count);
}

Value ContractEmitter::scratchOf(int64_t count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&k.function.front());
  return memref::AllocaOp::create(b, loc(), MemRefType::get({count}, sumType().getElementType()),
                                  b.getI64IntegerAttr(64));
}

void ContractEmitter::epilogueFrom(Value scratch, const Panel &panel, Index firstColumn, Index firstRow, Index begin,
                                   Index end) {
  int64_t width = panel.vectors * e.lanes;
  e.forEach(begin, end, 1, [&](Index row) {
    for (int64_t j = 0; j < panel.vectors; ++j) {
      Index place = e.add(e.mul(row, e.constant(width)), e.constant(j * e.lanes));
      e.setMask(panel.masks[j]);
      e.bind(op->getResult(0), vector::LoadOp::create(b, loc(), sumType(), scratch, place.base));
      SmallVector<Index> at = resultIndex(e.add(firstColumn, {e.constant(j * e.lanes).base, 1}), e.add(firstRow, row));
      SmallVector<Value> elements = llvm::map_to_vector(k.results, [&](Value result) { return e.read(result, at); });
      for (auto [output, element] : llvm::zip(k.outputs, elements))
        e.write(output, at, element);
    }
  });
  e.setMask({});
  e.unbind(op->getResult(0));
}

} // namespace hewn::codegen
