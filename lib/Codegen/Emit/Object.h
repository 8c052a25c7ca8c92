// SPDX-License-Identifier: Apache-2.0
//
// From functions of loops to object code.
//
// Kernels are compiled one by one on a pool of threads, each in an MLIRContext and an LLVMContext of its own: contexts
// are not to be shared between threads that run passes. They are handed over as bytecode, which is also what the cache
// hashes.
#ifndef HEWN_LIB_CODEGEN_EMIT_OBJECT_H
#define HEWN_LIB_CODEGEN_EMIT_OBJECT_H

#include "lib/Codegen/Emit/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace hewn::codegen {

/// What code is wanted as.
enum class CodeForm { Object, Assembly, LLVM };

struct CodeOptions {
  MachineSpec machine;
  /// In front of the name of every kernel.
  std::string prefix;
  CodeForm form = CodeForm::Object;
  bool optimize = true;
  /// 0: as many as the machine has.
  unsigned threads = 0;
  /// A folder of compiled kernels by content; empty: none.
  std::string cacheDir;
};

/// The code of one kernel.
struct CompiledKernel {
  std::string name;
  std::string code;
};

/// Everything that lowering to LLVM and translating looks up in a registry.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Compiles every public function of `module` but the program, in the module's order.
llvm::Expected<std::vector<CompiledKernel>> compileKernels(mlir::ModuleOp module, const CodeOptions &options);

/// Optimizes a module and returns its code. It must have the machine's data layout.
llvm::Expected<std::string> generateCode(llvm::Module &module, const CodeOptions &options);
/// Gives an empty module the machine's triple and data layout.
llvm::Error setMachine(llvm::Module &module, const MachineSpec &machine);

/// Runs `work` so that a fatal error inside LLVM comes back as an error of ours. One caller at a time a process;
/// threads that `work` starts wrap what they do in `recoverLLVM`.
llvm::Error recoverLLVM(llvm::function_ref<llvm::Error()> work);
llvm::Error guardLLVM(llvm::function_ref<llvm::Error()> work);

} // namespace hewn::codegen

#endif
