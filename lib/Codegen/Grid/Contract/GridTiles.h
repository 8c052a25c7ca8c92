// SPDX-License-Identifier: Apache-2.0
//
// A contraction as a product of matrices whose dims are counted list by list, each as one, in the order in which neighbours lie.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDTILES_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDTILES_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/KernelFunction.h"
#include "lib/Support/Remarks.h"

namespace hewn::codegen {

struct GridTiles : graph::ProductDims {
  graph::ContractOpInterface op;
  /// The kernel's result is parts of the sum, so many.
  int64_t parts = 1;
  /// Which operands lie with a summed dim innermost, and whether the result does with a row.
  bool leftAlongSum = false, rightAlongSum = false, resultAlongRows = false;
};

/// The kernel's only contraction, where it is followed by elementwise ops alone, or why there is none.
Found<GridTiles> gridTiles(KernelFunction &k);

} // namespace hewn::codegen

#endif
