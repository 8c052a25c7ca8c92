// SPDX-License-Identifier: Apache-2.0
//
// The contraction engine: sums of products as register tiles (BLIS's microkernel, with the epilogue on the accumulators).
//
// The iteration space of a contraction falls into batch dims (in both operands), rows m (in the left one), columns n (in the
// right one, one dim, spread over lanes) and the summed k. A convolution is then a product of a matrix whose rows are windows,
// read in place, with the weights. For each panel of n columns and each m evenly spaced rows
//
//     acc[m][n / lanes] = 0;  for k: acc[r][j] += lhs[row r, k] * rhs[k, panel][j]
//
// stays in registers over the whole of k; then the kernel's other ops are evaluated on the accumulators and stored. In a
// depthwise convolution lanes run along both operands: lhs gives vectors too.
//
// A border of zeros is never read: windows are cut to what is inside, by the bounds of the loops along outer rows, and along
// the tile by tiles of their own for the ends of a line, whose products with the border are left out.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTENGINE_H

#include "lib/Codegen/Contract/ContractForm.h"

namespace hewn::codegen {

/// Emits the loops of the kernel by `schedule`, in its scratch memory `memory` if it needs some; fails with a message at the kernel where
/// that can't be done.
llvm::LogicalResult emitContraction(KernelFunction &k, mlir::OpBuilder &b, plan::ContractAttr schedule,
                                    const std::optional<Buffer> &memory);

} // namespace hewn::codegen

#endif
