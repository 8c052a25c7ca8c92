// SPDX-License-Identifier: Apache-2.0
//
// A contraction as a product of matrices: its iteration dims in four lists, each counted as one.
#ifndef HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDTILES_H
#define HEWN_LIB_CODEGEN_GRID_CONTRACT_GRIDTILES_H

#include "lib/Codegen/KernelFunction.h"
#include "lib/Support/Remarks.h"
#include "mlir/IR/AffineMap.h"

namespace hewn::codegen {

struct GridTiles {
  graph::ContractOpInterface op;
  llvm::SmallVector<mlir::AffineMap> maps;
  graph::Dims extents;
  /// Iteration dims: in both operands, in the left one, in the right one, summed.
  llvm::SmallVector<unsigned> batch, rows, columns, summed;
  /// The kernel's result is parts of the sum, so many.
  int64_t parts = 1;
  /// Which operands lie with a summed dim innermost, and whether the result does with a row.
  bool leftAlongSum = false, rightAlongSum = false, resultAlongRows = false;

  graph::Dims dims(llvm::ArrayRef<unsigned> list) const {
    return llvm::map_to_vector<4>(list, [&](unsigned d) { return extents[d]; });
  }
};

/// The kernel's only contraction, where it is followed by elementwise ops alone, or why there is none.
Found<GridTiles> gridTiles(KernelFunction &k);

} // namespace hewn::codegen

#endif
