// SPDX-License-Identifier: Apache-2.0
//
// Generates the kernels of a target: chooses their schedules, and emits code from them. A target
// description (#plan.cpu, #plan.gpu) provides the generator.
#ifndef HEWN_LIB_CODEGEN_KERNEL_KERNELGENERATOR_H
#define HEWN_LIB_CODEGEN_KERNEL_KERNELGENERATOR_H

#include "lib/Codegen/Kernel/KernelContext.h"

namespace hewn::codegen {
class KernelGenerator;
} // namespace hewn::codegen

#include "lib/Codegen/Kernel/KernelGenerator.h.inc"

namespace hewn::codegen {

class KernelGenerator {
public:
  virtual ~KernelGenerator() = default;

  /// Returns the generator of the target that the module of `kernel` is compiled for. A module
  /// without a target has the generator of CPUs.
  static const KernelGenerator &of(plan::KernelOp kernel);

  /// Verifies that the generator supports the kernel's ops. Emits an error on the kernel if not.
  virtual llvm::LogicalResult verify(plan::KernelOp kernel) const { return llvm::success(); }
  /// Returns true if `schedule` is one of the generator's kinds of schedules.
  virtual bool owns(mlir::Attribute schedule) const = 0;
  /// Returns true if `emit` accepts the schedule, and false if `choose` must complete it.
  virtual bool isComplete(mlir::Attribute schedule) const { return true; }

  /// Chooses the kernel's schedule by the cost models. `partial` is the incomplete schedule that an
  /// earlier pass has chosen, or null. Fails after emitting an error if the kernel has no schedule.
  virtual llvm::FailureOr<mlir::Attribute> choose(KernelContext &k, mlir::Attribute partial) const = 0;
  /// Returns the dims of the float32 scratch memory that the schedule needs. Returns no dims if the
  /// schedule needs none, or if it does not apply to the kernel (`emit` then emits the error).
  virtual graph::Dims scratch(KernelContext &k, mlir::Attribute schedule) const = 0;

  /// Emits the body of `k.function` at the insertion point of `b`, as `schedule` describes.
  /// `memory` is the kernel's scratch memory. Fails after emitting an error on the kernel if the
  /// schedule does not apply.
  virtual llvm::LogicalResult emit(KernelContext &k, mlir::OpBuilder &b, mlir::Attribute schedule,
                                   const std::optional<Buffer> &memory) const = 0;
};

/// Returns the generator of kernels for CPUs.
const KernelGenerator &cpuKernelGenerator();

/// Attaches the generator for CPUs to #plan.cpu. Families of GPUs attach theirs.
void registerKernelGenerators(mlir::DialectRegistry &registry);

} // namespace hewn::codegen

#endif
