// SPDX-License-Identifier: Apache-2.0
//
// Lowers functions of loops to the LLVM dialect.
#ifndef HEWN_LIB_CODEGEN_EMIT_LOWERTOLLVM_H
#define HEWN_LIB_CODEGEN_EMIT_LOWERTOLLVM_H

#include "lib/Codegen/Emit/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace hewn::codegen {

/// Replaces the 1-D memref arguments of the function, and of the calls in it, by bare pointers. The
/// function's arguments become `noalias`, except for those marked `plan.shared`.
void useBarePointers(mlir::func::FuncOp function);
/// Lowers float minima and maxima to LLVM's intrinsics, for which targets have instructions. MLIR's
/// own lowering takes two comparisons and selects. If `selects` is true, minima and maxima that may
/// ignore NaN (`nnan`) are lowered to a comparison and a select: CPUs have one instruction for this
/// pair, but need three to propagate NaN. GPUs have one instruction for either.
void lowerMinMax(mlir::func::FuncOp function, bool selects);

/// Adds the passes that lower scf, vector, memref, arith and math to the LLVM dialect. Ops of the
/// simt dialect are lowered to instructions of `device`, or to calls if `device` is null.
void buildLowerToLLVM(mlir::OpPassManager &pm, const Device *device);

/// Rewrites masked loads, stores, gathers and scatters of f16 and bf16 vectors in the LLVM dialect
/// to vectors of i16. LLVM would split the f16 and bf16 accesses into elements and convert each to
/// f32 and back by compiler-rt calls, which artifacts cannot resolve.
void moveHalfTypesAsIntegers(mlir::ModuleOp module);
/// Replaces, in the LLVM dialect, all values of a 16-bit float type for which `lacks` returns true
/// by integers with the same bits. For targets without instructions for the type, LLVM would
/// convert such values by compiler-rt calls even where they are only passed on, for example as
/// block arguments. Emits an error if an op computes with such a value.
mlir::LogicalResult holdAsIntegers(mlir::ModuleOp module, llvm::function_ref<bool(mlir::Type)> lacks);

} // namespace hewn::codegen

#endif
