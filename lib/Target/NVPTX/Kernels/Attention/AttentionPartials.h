// SPDX-License-Identifier: Apache-2.0
//
// Combines the partial results of attention kernels that split the columns over blocks
// (lib/Schedule/GpuAttentionSchedule.h). Each row tile has a counter in global memory:
//
//     each block:      store the states of its columns;  barrier;  increment the counter;  barrier
//     the last block:  combine the states of all column splits;  reset the counter to 0
//
// No block waits for another, so blocks may run in any order, even one after another. The splits
// are always combined in the same order, whichever block is the last, so results are reproducible.
#ifndef HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_ATTENTIONPARTIALS_H
#define HEWN_LIB_TARGET_NVPTX_KERNELS_ATTENTION_ATTENTIONPARTIALS_H

#include "lib/Codegen/GPU/GpuBuilder.h"
#include "lib/Target/NVPTX/Schedule/MmaAttentionSchedule.h"

namespace hewn::codegen {

class AttentionPartials {
public:
  /// `memory` is the scratch memory for the states (plan::gpuAttentionScratch), if the schedule
  /// needs any.
  AttentionPartials(KernelContext &k, ElementEmitter &e, GpuBuilder &gpu, const graph::FusedAttention &attention,
                    plan::GpuAttentionAttr schedule, const std::optional<Buffer> &memory);

  /// Returns the number of column splits. If it is the constant 1, the caller must not call any
  /// other function of this class.
  const graph::DimExpr &count() const { return parts; }
  /// Returns a condition that is true if there are several column splits. Returns null if their
  /// number is static and more than one.
  mlir::Value areSeveral();
  /// `give` stores, and `taken` loads, this thread's states of the column split `part` of the row
  /// tile `item`.
  void give(graph::Index item, graph::Index part, graph::Index warp, llvm::ArrayRef<mlir::Value> states);
  llvm::SmallVector<mlir::Value> taken(graph::Index item, graph::Index part, graph::Index warp, size_t number);
  /// Returns a condition that is true in the block that finishes last among the blocks of the row
  /// tile `item`. All threads of the block must call it.
  mlir::Value isLast(graph::Index item);

private:
  ElementEmitter &e;
  GpuBuilder &gpu;
  graph::DimExpr parts{1};
  int64_t high;
  Buffer memory;
  mlir::Value counters, answer;

  graph::Index place(graph::Index item, graph::Index warp, size_t number, size_t state);
};

} // namespace hewn::codegen

#endif
