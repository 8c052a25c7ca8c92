// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/PointwiseConvCost.h"
#include "lib/Schedule/Schedule.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace hewn::plan {

std::optional<PixelCosts> pixelCosts(graph::ContractOpInterface op, const graph::PixelProduct &product) {
  std::optional<int64_t> items = product.items.constant(), features = product.features.constant(),
                         channels = product.channels.constant(), pixels = product.pixels.constant();
  Type type = graph::getElementType(op->getResult(0));
  bool ofOneType = llvm::all_of(op->getOperands(), [&](Value v) { return graph::getElementType(v) == type; });
  bool byVectors = (type.isF32() || type.isF64()) && ofOneType && groupSize(op) == 1 && !decoderOf(op);
  if (!byVectors || !items || !features || !channels || !pixels)
    return std::nullopt;
  int64_t bytes = graph::elementBytes(op->getResult(0)), lineBytes = *channels * bytes;
  // In both layouts of a 1x1 convolution, the operand whose elements are broadcast as scalars is
  // contiguous along K: it is the feature map for NHWC, and the weights for NCHW.
  auto cycles = [&](int64_t rows, int64_t columns) {
    ContractShape shape{graph::DimExpr(rows), graph::DimExpr(columns), lineBytes, false, bytes};
    return chooseContractTile(op, shape).cyclesPerDepth * double(*channels);
  };
  return PixelCosts{cycles(*items * *pixels, *features), cycles(*features, *pixels) * double(*items)};
}

bool wantsChannelEach(graph::ContractOpInterface op) {
  graph::ProductDims product = graph::productDims(op);
  std::optional<graph::ContractRoles> roles = rolesOf(op);
  auto lengthOf = [&](ArrayRef<unsigned> dims) { return product.count(dims).constant().value_or(0); };
  int64_t groups = lengthOf(product.batch), columns = lengthOf(product.columns), rows = lengthOf(product.rows),
          summed = lengthOf(product.summed), lanes = vectorLanes(op);
  Type type = graph::getElementType(op->getResult(0));
  bool ofOneType = llvm::all_of(op->getOperands(), [&](Value v) { return graph::getElementType(v) == type; });
  bool inGroups = roles && !roles->columnInLeft && groups > 1 && columns > 1 && columns < lanes && rows > 0;
  if (!inGroups || summed == 0 || graph::plainSummedDim(op, *roles) || !type.isF32() || !ofOneType ||
      groupSize(op) != 1)
    // the contraction is not a float32 convolution with one channel per group and fewer columns
    // than lanes
    return false;
  ContractShape shape = contractShape(op, *roles);
  double share = double(rows) / double(std::max<int64_t>(shape.rows.constant().value_or(rows), 1));
  double apart = chooseContractTile(op, shape).cyclesPerDepth * share * double(groups);
  double together = double(rows) * double(llvm::divideCeil(groups * columns, lanes));
  std::optional<int64_t> elements = graph::numElements(graph::getDims(op->getOperand(0))).constant();
  return elements && together * double(summed) + relayoutCost(op, *elements) * double(columns) < apart * double(summed);
}

double relayoutCost(Operation *op, int64_t elements) {
  return double(elements) * double(costsOf(op).getLaneLoadCost()) / 100;
}

double scatterCost(Operation *op, int64_t elements) {
  // instructions to store one element of a vector: extracting a lane, computing its address, and
  // the store
  constexpr double storesOfALane = 3;
  return storesOfALane * relayoutCost(op, elements);
}

} // namespace hewn::plan
