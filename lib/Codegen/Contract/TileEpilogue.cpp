// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Contract/TileEpilogue.h"
#include "dialects/Graph/Analysis/Cost.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

/// Returns the result index of column vector `j` in the row that is `row` rows after the tile's
/// first row.
static SmallVector<Index> resultIndex(const ContractKernel &c, const Tile &tile, Index row, int64_t j) {
  Point point = tile.at;
  Index &column = point[c.form.roles.column];
  column = c.e.add(column, {c.e.constant(j * c.e.lanes).base, 1});
  if (c.form.tiled)
    point[*c.form.tiled] = c.e.add(point[*c.form.tiled], row);
  return llvm::map_to_vector(c.form.maps[2].getResults(), [&](AffineExpr x) { return c.e.affine(x, point); });
}

/// Evaluates the epilogue on the accumulator registers and stores the results.
static void storeRegisters(const ContractKernel &c, const Tile &tile, ArrayRef<Value> sums) {
  ElementEmitter &e = c.e;
  const Panel &panel = tile.panel;
  struct Store {
    unsigned output;
    SmallVector<Index> at;
    Value element, mask;
  };
  SmallVector<Store> stores;
  for (auto [r, row] : llvm::enumerate(tile.rows))
    for (int64_t j = 0; j < panel.vectors; ++j) {
      SmallVector<Index> at = resultIndex(c, tile, row, j);
      e.setMask(panel.masks[j]);
      e.bind(c.op->getResult(0), sums[r * panel.vectors + j]);
      for (auto [o, result] : llvm::enumerate(c.k.results))
        stores.push_back({unsigned(o), at, e.read(result, at), panel.masks[j]});
    }
  // The rows past the end of a partial tile repeat the tile's last row and must not be stored
  // again. If the result overwrites an operand in memory, the epilogue of a repeated row may have
  // read elements that storing the last row has overwritten.
  size_t each = stores.size() / tile.rows.size();
  for (size_t r = 0; r < tile.rows.size(); ++r) {
    OpBuilder::InsertionGuard guard(c.b);
    if (tile.rest && r > 0) {
      Value exists = e.compare(arith::CmpIPredicate::slt, e.constant(int64_t(r)), *tile.rest);
      c.b.setInsertionPointToStart(scf::IfOp::create(c.b, c.loc(), exists, /*withElseRegion=*/false).thenBlock());
      e.forget();
    }
    for (const Store &store : ArrayRef(stores).slice(r * each, each)) {
      e.setMask(store.mask);
      e.write(c.k.outputs[store.output], store.at, store.element);
    }
    if (tile.rest && r > 0)
      e.forget();
  }
  e.setMask({});
  e.unbind(c.op->getResult(0));
}

/// Stores the accumulators to the stack. Then evaluates the epilogue in a loop over the tile's
/// rows, which loads the accumulators from the L1 cache. On registers, a long epilogue would be
/// unrolled for each accumulator, and all accumulators would be spilled.
static void storeSpilled(const ContractKernel &c, const Tile &tile, ArrayRef<Value> sums) {
  ElementEmitter &e = c.e;
  Value stack = c.stackFor(int64_t(tile.rows.size()) * tile.panel.vectors * e.lanes);
  for (auto [i, sum] : llvm::enumerate(sums))
    vector::StoreOp::create(c.b, c.loc(), sum, stack, e.constant(int64_t(i) * e.lanes).base);
  Index count = e.constant(int64_t(tile.rows.size()));
  if (tile.rest)
    count = e.min(count, *tile.rest);
  storeRows(c, tile, stack, e.constant(0), count);
}

void storeTile(const ContractKernel &c, const Tile &tile, ArrayRef<Value> sums) {
  bool isLong = llvm::any_of(c.k.kernel.getBody().front().without_terminator(), graph::isTranscendental);
  isLong ? storeSpilled(c, tile, sums) : storeRegisters(c, tile, sums);
}

void storeRows(const ContractKernel &c, const Tile &tile, Value sums, Index begin, Index end) {
  ElementEmitter &e = c.e;
  const Panel &panel = tile.panel;
  int64_t width = panel.vectors * e.lanes;
  e.forEach(begin, end, 1, [&](Index row) {
    for (int64_t j = 0; j < panel.vectors; ++j) {
      Index place = e.add(e.mul(row, e.constant(width)), e.constant(j * e.lanes));
      e.setMask(panel.masks[j]);
      e.bind(c.op->getResult(0), vector::LoadOp::create(c.b, c.loc(), c.sumType(), sums, place.base));
      SmallVector<Index> at = resultIndex(c, tile, row, j);
      SmallVector<Value> elements = llvm::map_to_vector(c.k.results, [&](Value result) { return e.read(result, at); });
      for (auto [output, element] : llvm::zip(c.k.outputs, elements))
        e.write(output, at, element);
    }
  });
  e.setMask({});
  e.unbind(c.op->getResult(0));
}

} // namespace hewn::codegen
