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

/// The kernels of a program whose machine is a device, in the order of their numbers in launches.
struct DeviceKernels {
  struct Kernel {
    std::string name; // in the device's code
    int64_t threads = 0, sharedBytes = 0;
    bool meets = false; // its blocks wait for each other
    int64_t counters = 0;
  };
  std::vector<Kernel> kernels;
  llvm::StringMap<unsigned> numbers; // by that name
};

/// Emits `main(ctx, frame)` into `module`: the launches of `program` with memory where its places say. Constants are added
/// to `weights`. With a `device`, launches go there, and its kernels are noted. Fails with errors on the ops.
mlir::FailureOr<llvm::Function *> emitProgram(mlir::func::FuncOp program, const ProgramInterface &interface,
                                              const KernelSymbols &kernels, const WeightTable &table, Weights &weights,
                                              llvm::Module &module, DeviceKernels *device = nullptr);

/// How the artifact gets its weights.
struct WeightsReference {
  uint64_t bytes = 0;
  std::string digest;
  /// The file's name; empty: the symbol `<name>_weights` is linked in.
  std::string file;
};

/// The device's code, which the artifact carries as text.
struct DeviceReference {
  std::string text, language;
  /// The symbol of the runtime's table for such devices.
  std::string table;
  const DeviceKernels *kernels = nullptr;
};

/// Emits the descriptor `<name>` (a `hewn_model`), the functions that it points to, and the typed functions `<name>_run`
/// and `<name>_arena_bytes`. The variants' functions are linked to it by their symbols. Without a `device` all is done on
/// the host.
llvm::Error emitDescriptor(const ProgramInterface &interface, const WeightsReference &weights, llvm::Module &module,
                           const DeviceReference *device = nullptr);

/// Emits what artifacts say of themselves as an ELF note of JSON.
void emitDescription(const ProgramInterface &interface, const WeightsReference &weights, llvm::Module &module);
/// The name of an element type by ONNX's number: "float32", "float8e4m3fn".
llvm::StringRef elementTypeName(int32_t onnx);

/// Stands in front of the targets' names in a header.
inline constexpr llvm::StringLiteral kHeaderTargets = "Code for: ";
/// The text of `<name>.h`.
std::string headerText(const ProgramInterface &interface);

} // namespace hewn::codegen

#endif
