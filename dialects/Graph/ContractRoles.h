// SPDX-License-Identifier: Apache-2.0
//
// The roles of a contraction's iteration dims, as BLAS names them: rows m, columns n, summed k, batch.
#ifndef HEWN_DIALECTS_GRAPH_CONTRACTROLES_H
#define HEWN_DIALECTS_GRAPH_CONTRACTROLES_H

#include "dialects/Graph/Graph.h"
#include "mlir/IR/AffineMap.h"

namespace hewn::graph {

/// Iteration dims: batch in both operands, rows in the left one, the column in the right one, summed in neither's result.
struct ContractRoles {
  llvm::SmallVector<unsigned> batch, rows, summed;
  unsigned column = 0;
};

/// The roles; nullopt where there is not exactly one dim of columns (depthwise convolution has none).
std::optional<ContractRoles> contractRoles(ContractOpInterface op);

/// The result of `map` that depends on iteration dim `d`, the first of them.
std::optional<unsigned> resultWith(mlir::AffineMap map, unsigned d);

} // namespace hewn::graph

#endif
