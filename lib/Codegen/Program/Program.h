// SPDX-License-Identifier: Apache-2.0
//
// The program as code: what runs the kernels, and what callers see.
#ifndef HEWN_LIB_CODEGEN_PROGRAM_H
#define HEWN_LIB_CODEGEN_PROGRAM_H

#include "lib/Codegen/Emit/Weights.h"
#include "lib/Codegen/Program/ProgramInterface.h"
#include "lib/Support/WeightTable.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"

namespace hewn::codegen {

/// The symbols of the kernels that a program launches, by their names in its module.
using KernelSymbols = llvm::StringMap<std::string>;

/// Emits `run(ctx, frame)` into `module`: the launches of `program` with memory where its places say. Constants are added
/// to `weights`. Fails with errors on the ops.
mlir::FailureOr<llvm::Function *> emitProgram(mlir::func::FuncOp program, const ProgramInterface &interface,
                                              const KernelSymbols &kernels, const WeightTable &table, Weights &weights,
                                              llvm::Module &module);

/// How the artifact gets its weights.
struct WeightsReference {
  uint64_t bytes = 0;
  std::string digest;
  /// The file's name; empty: the symbol `<name>_weights` is linked in.
  std::string file;
};

/// Emits the descriptor `<name>` (a `hewn_model`), the functions that it points to, and the typed functions `<name>_run`
/// and `<name>_arena_bytes`. The variants' functions are linked to it by their symbols.
llvm::Error emitDescriptor(const ProgramInterface &interface, const WeightsReference &weights, llvm::Module &module);

/// The text of `<name>.h`.
std::string headerText(const ProgramInterface &interface);

} // namespace hewn::codegen

#endif
