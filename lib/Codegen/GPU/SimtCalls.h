// SPDX-License-Identifier: Apache-2.0
//
// Emits calls of functions in place of GPU ops, and declares these functions with their memory
// effects.
#ifndef HEWN_LIB_CODEGEN_GPU_GPUCALLS_H
#define HEWN_LIB_CODEGEN_GPU_GPUCALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace hewn::codegen {

/// Effects of a function that LLVM must respect: whether all threads of a warp or block call the
/// function together, and which memory it accesses.
enum class SimtEffects { None, Exchanges, Reads, Orders, OrdersTogether };

class SimtCalls {
public:
  explicit SimtCalls(mlir::ModuleOp module) : module(module), b(module.getContext()), loc(module.getLoc()) {}

  /// Makes `call` and the other functions emit code before `op`, with its location.
  void moveTo(mlir::Operation *op);
  /// Returns an i32 constant.
  mlir::Value number(int64_t value);
  /// Returns the address `address` + `bytes`.
  mlir::Value plus(mlir::Value address, int64_t bytes);
  /// Emits a call of the function `name` and returns its results. Several results are returned as a
  /// struct, from which they are extracted.
  llvm::SmallVector<mlir::Value> call(const llvm::Twine &name, mlir::ValueRange operands, mlir::TypeRange results,
                                      SimtEffects effects);
  /// Returns the type's name in function names: "f32", "f16", "bf16", "u8" or "s8".
  static llvm::StringRef factorName(mlir::Type type);

private:
  mlir::ModuleOp module;
  mlir::OpBuilder b;
  mlir::Location loc;

  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::LLVM::LLVMFunctionType type, SimtEffects effects);
};

} // namespace hewn::codegen

#endif
