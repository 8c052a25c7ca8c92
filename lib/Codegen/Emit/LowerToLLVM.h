// SPDX-License-Identifier: Apache-2.0
//
// Functions of loops to the LLVM dialect.
#ifndef HEWN_LIB_CODEGEN_EMIT_LOWERTOLLVM_H
#define HEWN_LIB_CODEGEN_EMIT_LOWERTOLLVM_H

#include "lib/Codegen/Emit/Machine.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace hewn::codegen {

/// Replaces 1-D memref arguments, of the function and of those that it calls, by bare pointers. They may be assumed not to overlap,
/// except those that are `plan.shared`.
void useBarePointers(mlir::func::FuncOp function);
/// Minima and maxima of floats as LLVM has them, which machines know; MLIR's own lowering compares and selects twice. `selects`: those that may lose NaN
/// (`nnan`) are a comparison and a selection, which is one instruction where NaN in them takes three; a device has one for either.
void lowerMinMax(mlir::func::FuncOp function, bool selects);

/// The passes from scf, vector, memref, arith and math to the LLVM dialect, and from a grid's ops to instructions of `device`, or, where it
/// is null, to calls.
void buildLowerToLLVM(mlir::OpPassManager &pm, const Device *device);

/// Makes loads and stores of some lanes of f16 and bf16, in the LLVM dialect, those of integers: where LLVM takes such vectors
/// apart it would convert each element to f32 and back, by a library that artifacts don't have on older machines.
void moveHalfTypesAsIntegers(mlir::ModuleOp module);
/// Makes all values of the types that `lacks` names, of 16 bits, integers of the same bits, in the LLVM dialect: for machines that
/// have no instruction for them. LLVM converts such values where they merely move (at the head of a block, say), by the same library.
/// Whatever still computes with them is an error.
mlir::LogicalResult holdAsIntegers(mlir::ModuleOp module, llvm::function_ref<bool(mlir::Type)> lacks);

} // namespace hewn::codegen

#endif
