// SPDX-License-Identifier: Apache-2.0
//
// Emits the multiply-adds of a tile with its accumulators in vector registers.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_VECTORSUMS_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_VECTORSUMS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Emits the multiply-adds of the tile. Returns its accumulators: one vector per row and column
/// vector, row-major.
llvm::SmallVector<mlir::Value> vectorSums(const ContractKernel &c, const Tile &tile);

} // namespace hewn::codegen

#endif
