// SPDX-License-Identifier: Apache-2.0
//
// What is done with the sums of a tile: the kernel's other ops are evaluated on them, and its results stored.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_TILEEPILOGUE_H
#define HEWN_LIB_CODEGEN_CONTRACT_TILEEPILOGUE_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Stores the kernel's results for the tile's rows that exist. `sums`: a vector each, those of a row one after another.
void storeTile(const ContractKernel &c, const Tile &tile, llvm::ArrayRef<mlir::Value> sums);

/// The same for rows `begin` to `end` of a tile whose sums are in memory, as dense rows of its panel.
void storeRows(const ContractKernel &c, const Tile &tile, mlir::Value sums, graph::Index begin, graph::Index end);

} // namespace hewn::codegen

#endif
