// SPDX-License-Identifier: Apache-2.0
//
// Float multiply-adds with packed low-bit weights that are dequantized in the kernel.
//
// A quantized weight q becomes the high bits of a float's mantissa, which takes one shift and one
// bitwise operation per vector and no conversion:
//
//     1.mantissa = 1 + q / 2^bits
//     q * scale + offset = (1 + q / 2^bits) * (2^bits scale) + (offset - 2^bits scale)
//
// The two factors are computed once for the K indices that share a scale. Weights with a lookup
// table are looked up instead (CodeTable.h).
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_DEQUANTIZINGMMA_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_DEQUANTIZINGMMA_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Emits the multiply-adds of a tile, starting from the accumulators `sums`, and returns the new
/// accumulators. Each weight is dequantized whenever it is used. If registers suffice, a block is
/// accumulated with unscaled weights first, and the scale is applied once per block, which is less
/// work.
llvm::SmallVector<mlir::Value> dequantizingMma(const ContractKernel &c, const Tile &tile,
                                               llvm::SmallVector<mlir::Value> sums);

/// Emits the kernel's tasks for contractions that have more rows than a tile. A task dequantizes a
/// panel of weights into its slot of `panels`, the kernel's scratch memory, and then multiplies all
/// rows by it.
void emitDecoding(const ContractKernel &c, const Buffer &panels);

} // namespace hewn::codegen

#endif
