// SPDX-License-Identifier: Apache-2.0
//
// From functions of loops to object code.
//
// Kernels are compiled one by one on a pool of threads, each thread in an MLIRContext, and each kernel in an LLVMContext,
// of its own: contexts are not to be shared between threads that run passes. They are handed over as bytecode, which is also what the cache
// hashes.
#ifndef HEWN_LIB_CODEGEN_EMIT_OBJECT_H
#define HEWN_LIB_CODEGEN_EMIT_OBJECT_H

#include "lib/Codegen/Emit/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace hewn::codegen {

class CodeStore;

/// What code is wanted as.
enum class CodeForm { Object, Assembly, LLVM };

struct CodeOptions {
  CodeForm form = CodeForm::Object;
  bool optimize = true;
  /// Whether a*b + c may be one instruction: what every peer does, and more exact than two, but not what the ops say.
  bool fuseProducts = true;
  /// 0: as many as the machine has.
  unsigned threads = 0;
  /// A folder of compiled kernels by content; empty: none.
  std::string cacheDir;
  /// The same in memory, for compiles of one process, which it outlives; null: none.
  CodeStore *store = nullptr;
  /// Symbols of kernels are made of what is in them and not of the names that their module has for them, which are numbered: other programs
  /// have the same code for equal ones.
  bool namesByContent = false;
};

/// Code that is linked as one file.
struct CompiledUnit {
  std::string name;
  std::string code;
};

/// A planned module and the machine that its code is for.
struct Variant {
  mlir::ModuleOp module;
  MachineSpec machine;
  /// In front of the names of its functions.
  std::string prefix;
};

struct CompiledKernels {
  std::vector<CompiledUnit> units;
  /// For each variant the symbols of its kernels, by the kernels' names.
  std::vector<llvm::StringMap<std::string>> symbols;
};

/// Everything that lowering to LLVM and translating looks up in a registry.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Compiles every public function of each variant's module but the program, in the module's order. Where a variant's
/// kernel is the same as one of a variant that asks for less of the processor, that one's code serves both. No variant
/// may come behind one that asks for less.
llvm::Expected<CompiledKernels> compileKernels(llvm::ArrayRef<Variant> variants, const CodeOptions &options);

/// Optimizes a module and returns its code. It must have the machine's data layout.
llvm::Expected<std::string> generateCode(llvm::Module &module, const MachineSpec &machine, const CodeOptions &options);
/// Gives an empty module the machine's triple and data layout.
llvm::Error setMachine(llvm::Module &module, const MachineSpec &machine);

/// Runs `work` so that a fatal error inside LLVM, a failed assertion or a lack of memory comes back as an error of ours;
/// threads that `work` starts wrap what they do in `recoverLLVM`. Calls may nest, and several threads may call.
llvm::Error recoverLLVM(llvm::function_ref<llvm::Error()> work);
llvm::Error guardLLVM(llvm::function_ref<llvm::Error()> work);
/// `work` for each of [0, count), on `threads` threads (0: as many as the machine has), each in `recoverLLVM`. To be
/// called inside of `guardLLVM`.
llvm::Error forEachInParallel(unsigned threads, size_t count, llvm::function_ref<llvm::Error(size_t)> work);

} // namespace hewn::codegen

#endif
