// SPDX-License-Identifier: Apache-2.0
//
// The three steps of fused attention (dialects/Graph/Contract/FusedAttention.h) as kernels on a
// task's rows. Schedules are chosen for these kernels, and code is generated from them.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_ATTENTIONSTEPS_H
#define HEWN_LIB_CODEGEN_CONTRACT_ATTENTIONSTEPS_H

#include "dialects/Graph/Contract/FusedAttention.h"
#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {

/// One step of fused attention, as a kernel. The kernel is inserted before the attention kernel;
/// the caller of AttentionSteps::make must erase it.
struct AttentionStep {
  /// The kernel of an attention step, with a buffer for the task's slice of each value. The start
  /// offsets of these buffers are not set yet. If the attention kernel's buffers have memory, the
  /// step's buffers use it.
  KernelContext function;
  std::unique_ptr<KernelAnalysis> analysis;
  struct Argument {
    /// The argument in the step's kernel, and the corresponding value in the attention kernel.
    mlir::Value value, operand;
    /// For each dim of the value, the corresponding dim of the scores, or -1 if a task reads the
    /// full dim. Empty if the value is the scores or the weights.
    llvm::SmallVector<int64_t> along;
  };
  llvm::SmallVector<Argument> arguments;
};

class AttentionSteps {
public:
  static constexpr unsigned count = 3;
  /// Symbol for the number of rows of a task, used if the last task may have fewer rows.
  static constexpr llvm::StringLiteral kRows = "task.rows";

  /// `maxRows` is the number of rows of a full task.
  AttentionSteps(KernelContext &k, const graph::FusedAttention &attention, int64_t maxRows);

  /// Number of rows of a task, and the buffers of the task's scores and weights. The buffers have
  /// layouts but no memory.
  graph::DimExpr rows;
  Buffer scores, weights;

  /// Clones the ops of step `number` (0, 1 or 2) into a kernel, with the shapes of a task's slices.
  /// If the shapes do not match, emits an error and fails.
  mlir::FailureOr<AttentionStep> make(unsigned number);

  /// Returns, for each dim of the attention kernel's results, the corresponding dim of the scores,
  /// or -1 for dims that a task writes in full.
  llvm::SmallVector<int64_t> alongOfResults() const;

private:
  KernelContext &k;
  const graph::FusedAttention &attention;
  graph::Dims space;

  Buffer rowsOf(mlir::Value value) const;
  Buffer part(const Buffer &whole, llvm::ArrayRef<int64_t> along) const;
  llvm::SmallVector<int64_t> alongOf(mlir::Value value, mlir::Operation *user, unsigned operand) const;
};

} // namespace hewn::codegen

#endif
