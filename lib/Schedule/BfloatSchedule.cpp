// SPDX-License-Identifier: Apache-2.0
#include "lib/Schedule/BfloatSchedule.h"

#include <cmath>

using namespace mlir;

namespace hewn::plan {

constexpr int64_t kFloatBytes = 4, kBfloatBytes = 2;

/// The extent that the cost model assumes for a dynamic dim of a contraction.
static constexpr int64_t kUnknownExtent = 128;

/// Returns the time to read the right operand of a contraction (`bytes` bytes) from memory or a
/// cache. `total`: bytes that are read between two uses of the operand; this number decides which
/// cache still contains it.
static double readTime(Operation *op, double bytes, double total) {
  VectorCostsAttr costs = costsOf(op);
  TargetAttr target = targetOf(op);
  if (!target || total <= double(target.getL2Bytes()))
    return bytes / (double(vectorLanes(op)) * kFloatBytes) * double(costs.getL2LoadCost()) / 100;
  double fromMemory = bytes / double(costs.getMemoryBytesPerCycle()) * double(costs.getFmasPerCycle());
  return total <= double(target.getL3Bytes()) ? fromMemory * double(costs.getL3ByteCost()) / 100 : fromMemory;
}

BfloatTimes bfloatTimes(graph::ContractOpInterface op, DotProductAttr dot, int64_t constantBytes) {
  graph::ContractRoles roles = *graph::contractRoles(op);
  graph::Dims extents = op.getIterationDims(graph::getDims);
  auto count = [&](ArrayRef<unsigned> dims) {
    double product = 1;
    for (unsigned d : dims)
      product *= double(extents[d].constant().value_or(kUnknownExtent));
    return product;
  };
  auto lanes = double(vectorLanes(op));
  auto columns = double(extents[roles.column].constant().value_or(kUnknownExtent));
  double rows = count(roles.rows), right = count(roles.batch) * count(roles.summed) * columns;
  double vectors = right / columns * std::ceil(columns / lanes);

  ContractShape shape = contractShape(op, roles);
  shape.widens = true;
  // The kernel extends the vectors of a bfloat16 panel to float32 once for each tile of rows.
  double tiles = std::ceil(rows / double(chooseContractTile(op, shape).m));
  double extension = tiles * double(costsOf(op).getWidenCost()) / 100;

  auto total = double(constantBytes);
  double halfRead = readTime(op, right * kBfloatBytes, total * kBfloatBytes / kFloatBytes);
  return {std::max(rows * vectors, readTime(op, right * kFloatBytes, total)),
          std::max(rows * vectors / dot.getRelativeRate(), halfRead), std::max((rows + extension) * vectors, halfRead)};
}

bool beatsExtension(graph::ContractOpInterface op, DotProductAttr dot) {
  if (dot.getRelativeRate() > 1)
    return true;
  int64_t elements = graph::numElements(graph::getDims(op->getOperand(1))).constant().value_or(0);
  BfloatTimes times = bfloatTimes(op, dot, elements * kFloatBytes);
  return times.dots <= times.extended;
}

} // namespace hewn::plan
