// SPDX-License-Identifier: Apache-2.0
//
// Emits the epilogue of a tile: evaluates the kernel's other ops on the accumulators and stores the
// results.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_TILEEPILOGUE_H
#define HEWN_LIB_CODEGEN_CONTRACT_TILEEPILOGUE_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Emits the epilogue and stores the kernel's results for the tile's valid rows. `sums` has one
/// accumulator per row and column vector, row-major.
void storeTile(const ContractKernel &c, const Tile &tile, llvm::ArrayRef<mlir::Value> sums);

/// Stores the kernel's results for the tile's rows [begin, end). The accumulators are in memory, as
/// dense rows of the panel's width.
void storeRows(const ContractKernel &c, const Tile &tile, mlir::Value sums, graph::Index begin, graph::Index end);

} // namespace hewn::codegen

#endif
