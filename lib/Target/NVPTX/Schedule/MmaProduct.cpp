// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/NVPTX/Schedule/MmaProduct.h"
#include "dialects/Graph/Analysis/Layout.h"

using namespace mlir;

namespace hewn::plan {

/// Returns true for a contraction of 8-bit integer operands with 32-bit accumulators.
static bool isOfBytes(graph::ContractOpInterface op) {
  return graph::getElementType(op->getResult(0)).isSignlessInteger(32) &&
         llvm::all_of(op->getOperands(), [](Value v) { return graph::getElementType(v).isInteger(8); });
}

Eligibility multipliesMatrices(graph::ContractOpInterface op) {
  auto narrow = [](Type type) { return type.isF32() || type.isF16() || type.isBF16(); };
  // MMA is not used for skinny GEMMs (M or N of at most 8), which have kernels of their own. For
  // other GEMMs, K must fill a K-slice.
  constexpr int64_t leastSide = 9, leastSum = 16;
  GpuAttr gpu = gpuOf(op);
  bool bytes = isOfBytes(op);
  if (!gpu || !gpu.getMmasPerProduct())
    return Eligibility::no("the target has no MMA for this precision");
  bool areNarrow = llvm::all_of(op->getOperands(), [&](Value v) { return narrow(graph::getElementType(v)); });
  if (!bytes && !(areNarrow && narrow(graph::getElementType(op->getResult(0)))))
    return Eligibility::no("no MMA has these operand and accumulator types");
  graph::ProductDims product = graph::productDims(op);
  auto has = [&](ArrayRef<unsigned> list, int64_t least) {
    return product.count(list).constant().value_or(least) >= least;
  };
  if (!has(product.rows, leastSide) || !has(product.columns, leastSide) || !has(product.summed, leastSum))
    return Eligibility::no("M, N or K is too small to gain from MMA");
  return Eligibility::yes();
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
  return isFloat32 ? gpuOf(op).getMmasPerProduct() : 1;
}

/// Returns true for a contraction of float32 operands on a target with warpgroup MMA.
static bool isOfWords(graph::ContractOpInterface op) {
  GpuAttr gpu = gpuOf(op);
  return gpu && gpu.getCosts().getWarpgroupProductsPerCycle() > 0 && gpu.getMmasPerProduct() > 0 &&
         llvm::all_of(op->getOperands(), [](Value v) { return graph::getElementType(v).isF32(); });
}

bool wantsAlongSum(graph::ContractOpInterface op) { return isOfBytes(op) || isOfWords(op); }

/// Returns true if the innermost dim of the contraction operand in memory is a reduction dim.
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
  return gpuOf(op).getCosts().getWarpgroupProductsPerCycle() > 0 &&
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
  // Iteration dims of size 1, such as the window dims of a 1x1 convolution, are replaced by 0 in
  // the operand's indexing map. An index that is a sum of dims then becomes a single dim, which TMA
  // can load.
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
