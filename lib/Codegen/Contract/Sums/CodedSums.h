// SPDX-License-Identifier: Apache-2.0
//
// A tile's products with weights of few bits, decoded to floats.
//
// A code becomes the high bits of a mantissa, which is one shift and one operation on bits for a vector, and no conversion:
//
//     1.mantissa = 1 + code / 2^bits        code * scale + offset = (1 + code / 2^bits) * (2^bits scale) + (offset - 2^bits scale)
//
// Both factors are made once for the rows that share a scale. Codes of a table are looked up instead (CodeTable.h).
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_CODEDSUMS_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_CODEDSUMS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// The sums of a tile of few rows, which takes codes as they go, from `sums` on. Those of a block are scaled when they are whole where
/// registers hold them, which is less work than scaling each weight.
llvm::SmallVector<mlir::Value> codedSums(const ContractKernel &c, const Tile &tile,
                                         llvm::SmallVector<mlir::Value> sums);

/// The kernel's tasks where there are more rows than a tile has: they share a panel of weights in `panels`, the kernel's scratch memory.
void emitDecoding(const ContractKernel &c, const Buffer &panels);

} // namespace hewn::codegen

#endif
