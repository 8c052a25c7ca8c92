// SPDX-License-Identifier: Apache-2.0
//
// The function that a kernel is lowered to: `void k(ctx, inputs..., results..., symbols...)`.
#ifndef HEWN_LIB_CODEGEN_KERNEL_KERNELCONTEXT_H
#define HEWN_LIB_CODEGEN_KERNEL_KERNELCONTEXT_H

#include "lib/Codegen/ElementEmitter.h"
#include "lib/Codegen/Kernel/KernelAnalysis.h"
#include "lib/Schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn::codegen {

/// A kernel that is being lowered: its ops, the function that is emitted for it, and the buffers of
/// its values.
struct KernelContext {
  plan::KernelOp kernel;
  /// The form of the kernel. Not null; lives as long as the context.
  const KernelAnalysis *analysis = nullptr;
  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> symbols;
  /// Buffers of the kernel's arguments, by the block argument in the kernel's body.
  llvm::DenseMap<mlir::Value, Buffer> inputs;
  /// Buffers of the kernel's results (outputs), and the results in the kernel's body.
  llvm::SmallVector<Buffer> outputs;
  llvm::SmallVector<mlir::Value> results;

  /// Inputs that have no uses after the kernel. The kernel may overwrite their memory once it has
  /// read them.
  llvm::DenseSet<mlir::Value> consumed;

  /// True if the code is emitted inside of another kernel's loops, and therefore does not form
  /// tasks.
  bool nested = false;

  mlir::Location loc() { return kernel.getLoc(); }
};

/// Returns the context of a kernel without a function: buffers have layouts but no memory.
KernelContext describeKernel(plan::KernelOp kernel, const KernelAnalysis &analysis);

/// Creates an empty function before `kernel`, with arguments as in the kernel ABI
/// (docs/architecture.md). Sets the insertion point of `b` before the function's return.
KernelContext beginKernelFunction(plan::KernelOp kernel, const KernelAnalysis &analysis, mlir::OpBuilder &b);

/// Removes the scratch memory from the kernel's results and returns it, or nullopt if there is
/// none.
std::optional<Buffer> takeScratch(KernelContext &k);

/// Emits, on each of the kernel's contractions, a missed remark with this name and reason.
void missedContraction(KernelContext &k, llvm::StringRef name, llvm::StringRef why);
/// Emits a missed-optimization remark on each of the kernel's reductions, if the kernel is not
/// lowered row by row.
void missedReductions(KernelContext &k, llvm::StringRef why);
/// Emits a missed-optimization remark on each of the kernel's transposes, if the kernel uses no
/// tiles in shared memory.
void missedTransposes(KernelContext &k, llvm::StringRef why);

/// Emits an error that the kernel's schedule, which it names, cannot be used. The caller appends
/// the reason.
mlir::InFlightDiagnostic refuse(KernelContext &k, mlir::Attribute schedule);

/// Verifies that the kernel has scratch memory `memory` with the dims `needed` and float32
/// elements, or no scratch memory if `needed` is empty. Emits an error on the kernel if not.
llvm::LogicalResult verifyScratch(KernelContext &k, const graph::Dims &needed, const std::optional<Buffer> &memory);

using plan::vectorLanes;

} // namespace hewn::codegen

#endif
