// SPDX-License-Identifier: Apache-2.0
//
// Analyzes a contraction as a matrix product: lists its batch, row, column and reduction dims, each
// in memory order, so that a list can be linearized to one index.
#ifndef HEWN_LIB_CODEGEN_GPU_CONTRACT_GPUTILES_H
#define HEWN_LIB_CODEGEN_GPU_CONTRACT_GPUTILES_H

#include "dialects/Graph/Contract/ContractRoles.h"
#include "lib/Codegen/Kernel/KernelContext.h"
#include "lib/Support/Remarks.h"

namespace hewn::codegen {

struct GpuTiles : graph::ProductDims {
  graph::ContractOpInterface op;
  /// Number of split-K partials that the kernel stores; 1 if it stores the result.
  int64_t parts = 1;
  /// Three properties of the contraction: the left operand is contiguous along K; the right operand
  /// is contiguous along K; the result is contiguous along a row dim.
  bool leftAlongSum = false, rightAlongSum = false, resultAlongRows = false;
};

/// Analyzes the kernel's contraction. Returns the reason if the kernel does not have exactly one
/// contraction, or if its other ops are not an elementwise epilogue.
OrReason<GpuTiles> gpuTiles(KernelContext &k);

} // namespace hewn::codegen

#endif
