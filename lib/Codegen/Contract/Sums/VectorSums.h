// SPDX-License-Identifier: Apache-2.0
//
// A tile's sums of products, in vector registers.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_VECTORSUMS_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_VECTORSUMS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// The sums of the tile, a vector each, those of a row one after another.
llvm::SmallVector<mlir::Value> vectorSums(const ContractKernel &c, const Tile &tile);

} // namespace hewn::codegen

#endif
