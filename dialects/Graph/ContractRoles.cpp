// SPDX-License-Identifier: Apache-2.0
#include "dialects/Graph/ContractRoles.h"

using namespace mlir;

namespace hewn::graph {

std::optional<ContractRoles> contractRoles(ContractOpInterface op) {
  SmallVector<AffineMap> maps = op.getIndexingMaps();
  SmallVector<bool> summed = op.getReductionDims();
  ContractRoles roles;
  std::optional<unsigned> column;
  for (unsigned d = 0; d < summed.size(); ++d) {
    bool inLeft = maps[0].isFunctionOfDim(d), inRight = maps[1].isFunctionOfDim(d);
    if (summed[d])
      roles.summed.push_back(d);
    else if (inRight && !inLeft) {
      if (column)
        return std::nullopt;
      column = d;
    } else if (inRight)
      roles.batch.push_back(d);
    else
      roles.rows.push_back(d);
  }
  if (!column)
    return std::nullopt;
  roles.column = *column;
  return roles;
}

std::optional<unsigned> resultWith(AffineMap map, unsigned d) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (expr.isFunctionOfDim(d))
      return i;
  return std::nullopt;
}

} // namespace hewn::graph
