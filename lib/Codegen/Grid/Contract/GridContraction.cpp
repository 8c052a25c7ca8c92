// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Grid/Contract/GridContraction.h"
#include "dialects/Graph/Contract/ContractRoles.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "hewn-lower-kernels"

using namespace mlir;
using hewn::graph::Index;

namespace hewn::codegen {

GridContraction::GridContraction(KernelFunction &k, OpBuilder &b, const GridTiles &tiles, int64_t threads)
    : k(k), b(b), tiles(tiles), op(tiles.op), e(b, k.loc(), /*lanes=*/0, k.symbols, k.inputs), grid(k, e, threads),
      iteration(tiles.extents.size(), e.constant(0)), rows(tiles.count(tiles.rows)),
      columns(tiles.count(tiles.columns)), depth(tiles.count(tiles.summed)), batch(tiles.count(tiles.batch)) {}

void GridContraction::set(ArrayRef<unsigned> list, Index linear) {
  for (auto [d, index] : llvm::zip(list, e.unravel(linear, tiles.dims(list))))
    iteration[d] = index;
}

Value GridContraction::readOperand(KernelElements &elements, unsigned operand) {
  SmallVector<Index> at = llvm::map_to_vector(tiles.maps[operand].getResults(),
                                              [&](AffineExpr expr) { return elements.affine(expr, iteration); });
  return elements.read(op->getOperand(operand), at);
}

void GridContraction::store(Value sum, Index row, Index column) { storeBy(e, sum, row, column); }

void GridContraction::storePair(Value sums, Index row, Index column) {
  KernelElements pair(b, k.loc(), /*lanes=*/2, k.symbols, k.inputs);
  storeBy(pair, sums, row, column);
}

void GridContraction::storeBy(KernelElements &elements, Value sum, Index row, Index column) {
  Value inside = e.logicalAnd(e.compare(arith::CmpIPredicate::slt, row, e.expression(rows)),
                              e.compare(arith::CmpIPredicate::slt, column, e.expression(columns)));
  auto branch = scf::IfOp::create(b, loc(), inside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  set(tiles.rows, row);
  set(tiles.columns, column);
  if (elements.lanes > 1)
    iteration[tiles.columns.back()].stride = 1;
  SmallVector<Index> at = llvm::map_to_vector(tiles.maps[2].getResults(),
                                              [&](AffineExpr expr) { return elements.affine(expr, iteration); });
  if (tiles.parts > 1) {
    at.insert(at.begin(), part);
    return elements.write(k.outputs[0], at, sum);
  }
  elements.bind(op->getResult(0), sum);
  SmallVector<Value> values = llvm::map_to_vector(k.results, [&](Value result) { return elements.read(result, at); });
  for (auto [buffer, value] : llvm::zip(k.outputs, values))
    elements.write(buffer, at, value);
  elements.unbind(op->getResult(0));
}

bool GridContraction::storesPairs() {
  auto single = [&](StringRef why) {
    LDBG() << k.kernel.getName() << ": elements are stored one by one: " << why;
    return false;
  };
  if (tiles.columns.empty())
    return single("there is one column");
  unsigned last = tiles.columns.back();
  auto even = [](const graph::DimExpr &expr) { return expr.constant() && *expr.constant() % 2 == 0; };
  std::optional<unsigned> dim = graph::resultWith(tiles.maps[2], last);
  if (!even(tiles.extents[last]) || !dim || !isa<AffineDimExpr>(tiles.maps[2].getResult(*dim)))
    return single("columns are not known to be even");
  unsigned rank = tiles.maps[2].getNumResults();
  for (const Buffer &buffer : k.outputs) {
    unsigned own = *dim + unsigned(buffer.dims.size()) - rank;
    if (buffer.blockDim >= 0 || !buffer.strides[own].is(1))
      return single("columns are no neighbours");
    for (auto [d, stride] : llvm::enumerate(buffer.strides))
      if (d != own && !buffer.dims[d].is(1) && !even(stride))
        return single("lines begin at odd places");
  }
  // Operands of what follows are broadcast to the result's last dims.
  for (Operation &other : k.kernel.getBody().front().without_terminator())
    for (Value operand : other.getOperands()) {
      if (&other == op.getOperation() || tiles.parts > 1 || !isa<graph::ElementwiseOpInterface>(other))
        continue;
      auto found = k.inputs.find(operand);
      Operation *made = operand.getDefiningOp();
      if (found == k.inputs.end()) {
        if (!isa_and_nonnull<graph::ElementwiseOpInterface, graph::ContractOpInterface, graph::ConstantOp>(made))
          return single("what follows reads elements that are moved");
        continue;
      }
      const Buffer &buffer = found->second;
      int64_t own = int64_t(*dim) + int64_t(buffer.dims.size()) - int64_t(rank);
      if (buffer.blockDim >= 0 || (own >= 0 && !buffer.dims[own].is(1) && !buffer.strides[own].is(1)))
        return single("what follows reads columns that are no neighbours");
    }
  return true;
}

} // namespace hewn::codegen
