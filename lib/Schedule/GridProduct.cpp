// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/GridProduct.h"
#include "dialects/Graph/Analysis/Layout.h"

using namespace mlir;

namespace hewn::plan {

/// Operands of eight bits, whose products are summed in 32.
static bool isOfBytes(graph::ContractOpInterface op) {
  return graph::getElementType(op->getResult(0)).isSignlessInteger(32) &&
         llvm::all_of(op->getOperands(), [](Value v) { return graph::getElementType(v).isInteger(8); });
}

Verdict multipliesMatrices(graph::ContractOpInterface op) {
  auto narrow = [](Type type) { return type.isF32() || type.isF16() || type.isBF16(); };
  // Fewer rows or columns have a form of their own; a slice's worth of sums.
  constexpr int64_t leastSide = 9, leastSum = 16;
  GridAttr grid = gridOf(op);
  bool bytes = isOfBytes(op);
  if (!grid || !grid.getMmasPerProduct())
    return Verdict::no("the machine has no matrix instruction that is to be used at this precision");
  bool areNarrow = llvm::all_of(op->getOperands(), [&](Value v) { return narrow(graph::getElementType(v)); });
  if (!bytes && !(areNarrow && narrow(graph::getElementType(op->getResult(0)))))
    return Verdict::no("no matrix instruction has such operands and sums");
  graph::ProductDims product = graph::productDims(op);
  auto has = [&](ArrayRef<unsigned> list, int64_t least) {
    return product.count(list).constant().value_or(least) >= least;
  };
  if (!has(product.rows, leastSide) || !has(product.columns, leastSide) || !has(product.summed, leastSum))
    return Verdict::no("it has too few rows, columns or summed elements to gain by a matrix instruction");
  return Verdict::yes();
}

Type stagedType(graph::ContractOpInterface op, unsigned operand) {
  Type left = graph::getElementType(op->getOperand(0)), right = graph::getElementType(op->getOperand(1));
  if (isOfBytes(op))
    return operand == 0 ? left : right;
  return left == right ? left : Type(Float32Type::get(op->getContext()));
}

bool multipliesAlongSum(graph::ContractOpInterface op) { return isOfBytes(op); }

int64_t productsOf(graph::ContractOpInterface op) {
  bool isFloat32 = llvm::any_of(op->getOperands(), [](Value v) { return graph::getElementType(v).isF32(); });
  return isFloat32 ? gridOf(op).getMmasPerProduct() : 1;
}

/// Float32s, where groups of warps multiply.
static bool isOfWords(graph::ContractOpInterface op) {
  GridAttr grid = gridOf(op);
  return grid && grid.getCosts().getWarpgroupProductsPerCycle() > 0 && grid.getMmasPerProduct() > 0 &&
         llvm::all_of(op->getOperands(), [](Value v) { return graph::getElementType(v).isF32(); });
}

bool wantsAlongSum(graph::ContractOpInterface op) { return isOfBytes(op) || isOfWords(op); }

/// Whether an operand's innermost dim in memory is summed.
static bool liesAlongSum(graph::ContractOpInterface op, unsigned operand) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  auto layout = dyn_cast_or_null<graph::LayoutAttr>(type.getEncoding());
  if (layout && (layout.getBlockDim() >= 0 || layout.getGroupDim() >= 0))
    return false;
  graph::ProductDims product = graph::productDims(op);
  std::optional<unsigned> inner = product.innermost(op->getOperand(operand), product.maps[operand]);
  return inner && llvm::is_contained(product.summed, *inner);
}

bool mustBeFetched(graph::ContractOpInterface op) { return isOfWords(op); }

bool multipliesByGroups(graph::ContractOpInterface op) {
  return gridOf(op).getCosts().getWarpgroupProductsPerCycle() > 0 &&
         (isOfBytes(op) || stagedType(op).getIntOrFloatBitWidth() == 16 ||
          (isOfWords(op) && liesAlongSum(op, 0) && liesAlongSum(op, 1)));
}

static bool looksFetchable(graph::ContractOpInterface op, unsigned operand) {
  constexpr int64_t strideBytes = 16;
  Value value = op->getOperand(operand);
  auto type = cast<RankedTensorType>(value.getType());
  if (!isa<BlockArgument>(value) || graph::getElementType(value) != stagedType(op, operand) ||
      (multipliesAlongSum(op) && !liesAlongSum(op, operand)))
    return false;
  graph::Dims extents = op.getIterationDims(graph::getDims);
  // What of a window is always at its first place is not there.
  SmallVector<AffineExpr> dims;
  for (unsigned d = 0; d < extents.size(); ++d)
    dims.push_back(extents[d].is(1) ? getAffineConstantExpr(0, op->getContext())
                                    : getAffineDimExpr(d, op->getContext()));
  AffineMap map = op.getIndexingMaps()[operand].replaceDimsAndSymbols(dims, {}, unsigned(dims.size()), 0);
  for (unsigned d = 0; d < extents.size(); ++d)
    if (map.isFunctionOfDim(d) && !llvm::is_contained(map.getResults(), dims[d]))
      return false;
  graph::Dims stored = graph::storedExtents(type, graph::getDims(value));
  SmallVector<int64_t> order = graph::significantOrder(type);
  int64_t together = graph::storedTogether(type);
  graph::DimExpr line = together > 1 || order.empty() ? graph::DimExpr(together) : stored[size_t(order.back())];
  return line.divideExactly(graph::DimExpr(strideBytes / graph::elementBytes(value))).has_value();
}

bool looksFetchable(graph::ContractOpInterface op) { return looksFetchable(op, 0) && looksFetchable(op, 1); }

} // namespace hewn::plan
