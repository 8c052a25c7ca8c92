// SPDX-License-Identifier: Apache-2.0
//
// Compiles functions of loops to object code.
//
// A pool of threads compiles the kernels. MLIR and LLVM contexts must not be shared by threads that
// run passes: each thread has an MLIRContext, each kernel an LLVMContext. Kernels are passed to the
// threads as bytecode, which is also the key of the cache.
#ifndef HEWN_LIB_CODEGEN_EMIT_OBJECT_H
#define HEWN_LIB_CODEGEN_EMIT_OBJECT_H

#include "lib/Codegen/Emit/Machine.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <memory>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace hewn::codegen {

class CodeStore;

/// Output format of code generation.
enum class CodeForm { Object, Assembly, LLVM };

struct CodeOptions {
  CodeForm form = CodeForm::Object;
  bool optimize = true;
  /// True if a*b + c is contracted to an FMA, as other compilers do. An FMA is more precise, but
  /// its result differs from that of separate ops.
  bool fuseProducts = true;
  /// Number of threads that compile kernels; 0 means the number of hardware threads.
  unsigned threads = 0;
  /// Folder of the code cache. If empty, code is not cached on disk.
  std::string cacheDir;
  /// In-memory code cache that several compiles of a process share, or null. It must outlive them.
  CodeStore *store = nullptr;
  /// True if kernel symbols are derived from a hash of the kernel's content, instead of from the
  /// numbered names in the module. Equal kernels of different programs then have the same code.
  bool namesByContent = false;
  /// Returns true if the compile should end without a result. Called by several threads at once.
  /// May be null.
  std::function<bool()> isCancelled;
};

/// Name and content of one object file.
struct CompiledUnit {
  std::string name;
  std::string code;
};

/// A variant of the program: a planned module, and the target that code is generated for.
struct Variant {
  mlir::ModuleOp module;
  TargetSpec machine;
  /// Prefix of the symbols of the variant's functions.
  std::string prefix;
};

struct CompiledKernels {
  std::vector<CompiledUnit> units;
  /// For each variant, a map from kernel names in its module to kernel symbols.
  std::vector<llvm::StringMap<std::string>> symbols;
};

/// Registers all dialects and interfaces that the lowering and translation to LLVM IR need.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Compiles the kernels: every public function of each variant's module except the program, in
/// module order. If a variant's kernel equals a kernel of a variant that requires fewer CPU
/// features, both variants use the code compiled for the latter. Variants must be sorted by
/// decreasing requirements.
llvm::Expected<CompiledKernels> compileKernels(llvm::ArrayRef<Variant> variants, const CodeOptions &options);

/// Optimizes a module and returns its code. The module must have the target's data layout.
llvm::Expected<std::string> generateCode(llvm::Module &module, const TargetSpec &machine, const CodeOptions &options);
/// Sets the target's triple and data layout on a module.
llvm::Error setMachine(llvm::Module &module, const TargetSpec &machine);

/// Run `work` and return an error if LLVM reports a fatal error, an assertion fails or memory is
/// exhausted. guardLLVM also installs the process-wide error handlers; threads that `work` starts
/// use recoverLLVM, which relies on them. Calls may be nested and may run on several threads.
llvm::Error recoverLLVM(llvm::function_ref<llvm::Error()> work);
llvm::Error guardLLVM(llvm::function_ref<llvm::Error()> work);
/// Calls `work` for each index in [0, count) on `options.threads` threads, each within recoverLLVM.
/// Returns an error without further calls once `options.isCancelled` returns true. The caller must
/// be within guardLLVM.
llvm::Error forEachInParallel(const CodeOptions &options, size_t count, llvm::function_ref<llvm::Error(size_t)> work);

} // namespace hewn::codegen

#endif
