// SPDX-License-Identifier: Apache-2.0
//
// Kernel generator for contractions: register-tiled GEMM (as in BLIS's microkernel) with the
// epilogue on the accumulators.
//
// The iteration dims of a contraction are batch dims (in both operands), rows M (left operand),
// columns N (right operand; one dim, vectorized) and reduction dims K. A convolution is a GEMM
// whose left rows are windows of the input, read in place (implicit im2col). For each panel of n
// columns and each m evenly spaced rows
//
//     acc[m][n / lanes] = 0;  for k: acc[r][j] += lhs[row r, k] * rhs[k, panel][j]
//
// stays in registers over all of K. Then the kernel's other ops are evaluated on the accumulators,
// and the results are stored. In a depthwise convolution both operands are vectorized along the
// channels.
//
// Zero padding is not read. For the outer row dims, loop bounds restrict the windows to the input.
// For the tiled row dim, the tiles at the ends of a row have code of their own, without the
// multiply-adds of the padding.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CONTRACTENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACT_CONTRACTENGINE_H

#include "lib/Codegen/Contract/ContractForm.h"

namespace hewn::codegen {

/// Emits the loops of the kernel as `schedule` describes. `memory` is the kernel's scratch memory,
/// if the schedule needs it. Emits an error on the kernel and fails if the schedule does not apply.
llvm::LogicalResult emitContraction(KernelContext &k, mlir::OpBuilder &b, plan::ContractAttr schedule,
                                    const std::optional<Buffer> &memory);

} // namespace hewn::codegen

#endif
