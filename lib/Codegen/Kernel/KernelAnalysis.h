// SPDX-License-Identifier: Apache-2.0
//
// The form of a kernel: what its ops compute, without memory and without a schedule.
#ifndef HEWN_LIB_CODEGEN_KERNEL_KERNELANALYSIS_H
#define HEWN_LIB_CODEGEN_KERNEL_KERNELANALYSIS_H

#include "dialects/Graph/Analysis/SpaceMap.h"
#include "dialects/Graph/Contract/FusedAttention.h"
#include "dialects/Plan/Plan.h"

namespace hewn::codegen {

/// Properties of a kernel's ops that all kernel generators need. Passes on kernels get them from
/// MLIR's analysis manager (`getAnalysis<KernelAnalysis>()`) and pass them on in the KernelContext.
/// Invalid once the ops change; schedules and other attributes of the kernel do not matter.
struct KernelAnalysis {
  explicit KernelAnalysis(plan::KernelOp kernel);

  /// The ops of the kernel in program order, without the terminator.
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<graph::ContractOpInterface> contractions;
  /// The only contraction of a kernel whose other ops are elementwise and indexing ops. Null if the
  /// kernel has another form.
  graph::ContractOpInterface contraction;
  /// The kernel as fused attention whose tail computes all results. On a GPU, whose generators keep
  /// scores and weights in registers, they may have fewer than 32 bits.
  OrReason<graph::FusedAttention> attention;
  /// The map from the iteration space of the kernel's reductions or contraction to the indices of
  /// all values that are computed from them. Nullopt if the kernel has neither, or if an op reads
  /// such a value at another index. Generators that hold the results in registers do not support
  /// these kernels.
  std::optional<graph::SpaceMap> space;
};

/// Returns the map of `KernelAnalysis::space` for a generator that also holds `held`, a value of
/// the kernel with the dims of the space, in registers.
std::optional<graph::SpaceMap> spaceMap(llvm::ArrayRef<mlir::Operation *> ops, mlir::Value held = {});

} // namespace hewn::codegen

#endif
