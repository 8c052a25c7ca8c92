// SPDX-License-Identifier: Apache-2.0
//
// A tile's sums of products by a matrix unit, and what is done with them.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXSUMS_H
#define HEWN_LIB_CODEGEN_CONTRACT_SUMS_MATRIXSUMS_H

#include "lib/Codegen/Contract/ContractKernel.h"

namespace hewn::codegen {

/// A whole tile of the kernel's schedule (its `rows` are not read), by way of the stack; rows before `fresh` are not stored.
void emitMatrixTile(const ContractKernel &c, const Tile &tile, graph::Index fresh);

} // namespace hewn::codegen

#endif
