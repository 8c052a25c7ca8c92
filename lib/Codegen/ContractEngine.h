// SPDX-License-Identifier: Apache-2.0
//
// The contraction engine: sums of products as register tiles (BLIS's microkernel, with the epilogue on the
// accumulators).
//
// The iteration space of a contraction falls into batch dims (in both operands), rows m (in the left one), columns n
// (in the right one, one dim, spread over lanes) and the summed k. Rows are flattened to one number: a convolution is
// then a product of a matrix whose rows are windows, read in place, with the weights. For each panel of n columns and
// each m rows
//
//     acc[m][n / lanes] = 0;  for k: acc[r][j] += lhs[row r, k] * rhs[k, panel][j]
//
// stays in registers over the whole of k; then the kernel's other ops are evaluated on the accumulators and stored.
#ifndef HEWN_LIB_CODEGEN_CONTRACTENGINE_H
#define HEWN_LIB_CODEGEN_CONTRACTENGINE_H

#include "dialects/Graph/ContractRoles.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// The contraction that this kernel is built around, where the engine can take it: float32, operands in memory, columns
/// contiguous in the right one (or packed in blocks).
graph::ContractOpInterface tiledContraction(KernelFunction &k);

void emitContraction(KernelFunction &k, mlir::OpBuilder &b, graph::ContractOpInterface op);

} // namespace hewn::codegen

#endif
