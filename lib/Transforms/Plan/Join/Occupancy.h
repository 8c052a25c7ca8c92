// SPDX-License-Identifier: Apache-2.0
//
// How many blocks of a kernel a processor of a grid runs at once: what they share are its registers, its shared memory and its places
// for threads. A joint kernel has what the largest of its parts wants, and so have all others.
#ifndef HEWN_LIB_TRANSFORMS_PLAN_JOIN_OCCUPANCY_H
#define HEWN_LIB_TRANSFORMS_PLAN_JOIN_OCCUPANCY_H

#include "dialects/Plan/Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn::plan {

/// Of a kernel: threads of a block, registers of a thread, bytes of shared memory of a block.
struct KernelNeeds {
  int64_t threads = 0, registers = 0, sharedBytes = 0;

  /// What both find enough.
  KernelNeeds with(const KernelNeeds &other) const;
  bool operator==(const KernelNeeds &) const = default;
};

/// What the function of a kernel says of itself.
KernelNeeds needsOf(mlir::func::FuncOp kernel);

/// Blocks that a processor runs at once; 0: not one, since its threads want more registers, or it more memory, than there are.
int64_t blocksAtOnce(const KernelNeeds &needs, GridAttr grid);

/// Cycles that the blocks of a kernel take beside starting and ending.
struct BlocksWork {
  /// All processors' cycles of products at the machine's rate, bytes of memory, blocks, threads and bytes of shared memory of a block.
  double multiply = 0, bytes = 0, blocks = 1;
  int64_t threads = 0, sharedBytes = 0;

  /// `together`: blocks that a processor runs at once. `shared`: so many go through all there are, at a fixed stride, else a processor
  /// gets one when it has ended one.
  double cycles(GridAttr grid, int64_t together, bool shared) const;
};

} // namespace hewn::plan

#endif
