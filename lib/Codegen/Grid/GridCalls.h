// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions that stand for a grid's ops, declared with what LLVM may know of them.
#ifndef HEWN_LIB_CODEGEN_GRID_GRIDCALLS_H
#define HEWN_LIB_CODEGEN_GRID_GRIDCALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace hewn::codegen {

/// What LLVM may know of a function: whether all threads of a warp or a block call it together, and which memory it touches.
enum class GridEffects { None, Exchanges, Reads, Orders, OrdersTogether };

class GridCalls {
public:
  explicit GridCalls(mlir::ModuleOp module) : module(module), b(module.getContext()), loc(module.getLoc()) {}

  /// What is made from now on stands before `op`, and is at its location.
  void moveTo(mlir::Operation *op);
  /// A constant of i32.
  mlir::Value number(int64_t value);
  /// An address so many bytes further.
  mlir::Value plus(mlir::Value address, int64_t bytes);
  /// Several results come as a struct, and are taken out of it.
  llvm::SmallVector<mlir::Value> call(const llvm::Twine &name, mlir::ValueRange operands, mlir::TypeRange results,
                                      GridEffects effects);
  /// "f32", "f16", "bf16", "u8", "s8".
  static llvm::StringRef factorName(mlir::Type type);

private:
  mlir::ModuleOp module;
  mlir::OpBuilder b;
  mlir::Location loc;

  mlir::LLVM::LLVMFuncOp declare(llvm::StringRef name, mlir::LLVM::LLVMFunctionType type, GridEffects effects);
};

} // namespace hewn::codegen

#endif
