// SPDX-License-Identifier: Apache-2.0
//
// The steps of a chain (dialects/Graph/Contract/Chain.h) as kernels of their own, on a task's rows of everything: what is asked for a
// schedule before code is made, and what engines make code of.
#ifndef HEWN_LIB_CODEGEN_CONTRACT_CHAINSTEPS_H
#define HEWN_LIB_CODEGEN_CONTRACT_CHAINSTEPS_H

#include "dialects/Graph/Contract/Chain.h"
#include "lib/Codegen/KernelFunction.h"

namespace hewn::codegen {

/// One step. Its kernel stands before the chain's, and is to be erased by whoever asked for it.
struct ChainStep {
  /// Buffers of the task's part of each value, without where it begins; their memory is that of the chain's, if there is some.
  KernelFunction function;
  struct Argument {
    /// The value in the step's kernel, and in the chain's.
    mlir::Value value, operand;
    /// For each dim the one of the scores that it runs along; -1: a task sees all of it. None for scores and weights.
    llvm::SmallVector<int64_t> along;
  };
  llvm::SmallVector<Argument> arguments;
};

class ChainSteps {
public:
  static constexpr unsigned count = 3;
  /// The symbol for the number of rows of a task, where it is not always the same.
  static constexpr llvm::StringLiteral kRows = "task.rows";

  /// `maxRows`: rows of a task.
  ChainSteps(KernelFunction &k, const graph::Chain &chain, int64_t maxRows);

  /// Rows of a task; the buffers of its scores and weights, without memory.
  graph::DimExpr rows;
  Buffer scores, weights;

  /// The ops of step `number` over again in the task's shapes. Failure: they don't fit, which has been said.
  mlir::FailureOr<ChainStep> make(unsigned number);

  /// For each dim of the chain's results the one of the scores that it runs along.
  llvm::SmallVector<int64_t> alongOfResults() const;

private:
  KernelFunction &k;
  const graph::Chain &chain;
  graph::Dims space;

  Buffer rowsOf(mlir::Value value) const;
  Buffer part(const Buffer &whole, llvm::ArrayRef<int64_t> along) const;
  llvm::SmallVector<int64_t> alongOf(mlir::Value value, mlir::Operation *user, unsigned operand) const;
};

} // namespace hewn::codegen

#endif
