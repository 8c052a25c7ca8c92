// SPDX-License-Identifier: Apache-2.0
//
// The function that a kernel becomes: `void k(ctx, inputs..., results..., symbols...)`.
#ifndef HEWN_LIB_CODEGEN_KERNELFUNCTION_H
#define HEWN_LIB_CODEGEN_KERNELFUNCTION_H

#include "dialects/Graph/Analysis/SpaceMap.h"
#include "lib/Codegen/KernelElements.h"
#include "lib/Schedule/Schedule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hewn::codegen {

/// A kernel being lowered: its ops, the function that is filled, and where its values live.
struct KernelFunction {
  plan::KernelOp kernel;
  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> symbols;
  /// Arguments of the kernel, by the value in its body.
  llvm::DenseMap<mlir::Value, Buffer> inputs;
  /// In the order of the kernel's results, which `results` names.
  llvm::SmallVector<Buffer> outputs;
  llvm::SmallVector<mlir::Value> results;

  /// Inputs that nobody reads afterwards: their memory may hold other values from then on when the kernel has read them itself.
  llvm::DenseSet<mlir::Value> consumed;

  /// A part of a kernel, emitted inside of its loops: it has no tasks of its own.
  bool nested = false;

  mlir::Location loc() { return kernel.getLoc(); }
};

/// What is known of a kernel before there is a function: where its values lie, without memory.
KernelFunction describeKernel(plan::KernelOp kernel);

/// Makes an empty function for `kernel` before it, with arguments as the kernel ABI has them (docs/architecture.md) and
/// an insertion point at the end of its body, in front of the return.
KernelFunction beginKernelFunction(plan::KernelOp kernel, mlir::OpBuilder &b);

/// Where what a kernel makes of its reductions or contraction, and of `held`, has its elements. nullopt: engines that hold those can't
/// take the kernel, since some of it reads them elsewhere; or there are none.
std::optional<graph::SpaceMap> spaceMap(plan::KernelOp kernel, mlir::Value held = {});

/// The kernel's scratch memory, which is then none of its results anymore; nullopt where it has none.
std::optional<Buffer> takeScratch(KernelFunction &k);

bool hasSeveralContractions(KernelFunction &k);
/// Says of each of the kernel's contractions that the form `name` is not what it gets, and why.
void missedContraction(KernelFunction &k, llvm::StringRef name, llvm::StringRef why);
/// The same of its reductions, which are no passes over rows.
void missedReductions(KernelFunction &k, llvm::StringRef why);
/// The same of its transpositions, which are not made by tiles in shared memory.
void missedTransposes(KernelFunction &k, llvm::StringRef why);

/// An error on the kernel: it has this schedule, by which no code can be made, for a reason that is put behind.
mlir::InFlightDiagnostic refuse(KernelFunction &k, mlir::Attribute schedule);

/// Whether the kernel has memory of so many float32s (empty: needs none). An error on it otherwise.
llvm::LogicalResult verifyScratch(KernelFunction &k, const graph::Dims &needed, const std::optional<Buffer> &memory);

using plan::vectorLanes;

} // namespace hewn::codegen

#endif
