// SPDX-License-Identifier: Apache-2.0
//
// Emits the multiply-adds and the epilogue of a tile on a matrix unit.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXSUMS_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXSUMS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// Emits the multiply-adds and the epilogue of a full tile on the matrix unit (`tile.rows` is not
/// used). The accumulators are stored to the stack, from which the epilogue loads them. Rows before
/// row `fresh` are not stored, because the previous tile has computed them.
void emitMatrixTile(const ContractKernel &c, const Tile &tile, graph::Index fresh);

} // namespace hewn::codegen

#endif
