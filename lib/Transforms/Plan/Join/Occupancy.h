// SPDX-License-Identifier: Apache-2.0
//
// Occupancy: how many thread blocks of a kernel are resident on a multiprocessor, limited by
// registers, shared memory and threads. All phases of a persistent kernel have the resources of the
// largest phase.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_JOIN_OCCUPANCY_H
#define HEWN_LIB_TRANSFORMS_PLAN_JOIN_OCCUPANCY_H

#include "dialects/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn::plan {

/// Resources of a kernel: threads per block, registers per thread, bytes of shared memory per
/// block.
struct KernelNeeds {
  int64_t threads = 0, registers = 0, sharedBytes = 0;

  /// Returns the maximum of each resource of both kernels.
  KernelNeeds with(const KernelNeeds &other) const;
  bool operator==(const KernelNeeds &) const = default;
};

/// Returns the resources that the kernel's function declares.
KernelNeeds needsOf(mlir::func::FuncOp entry);

/// Returns the number of resident blocks per multiprocessor. It is 0 if a block needs more
/// registers or shared memory than a multiprocessor has.
int64_t blocksAtOnce(const KernelNeeds &needs, GpuAttr gpu);

/// The work of a kernel's blocks, without launch and block overhead.
struct BlocksWork {
  /// Multiply cycles of the entire GPU at peak rate; bytes of memory traffic; number of blocks.
  /// Then, per block: threads and bytes of shared memory.
  double multiply = 0, bytes = 0, blocks = 1;
  int64_t threads = 0, sharedBytes = 0;

  /// Returns the cycles that a GPU takes for the work. `together` is the number of resident blocks
  /// per multiprocessor. If `shared`, the resident blocks of a persistent kernel process all blocks
  /// at a fixed stride; otherwise a multiprocessor gets a new block when one ends.
  double cycles(GpuAttr gpu, int64_t together, bool shared) const;
};

} // namespace hewn::plan

#endif
