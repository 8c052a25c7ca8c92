// SPDX-License-Identifier: Apache-2.0
//
// Emits the program, which is the code that runs a model's kernels, and the descriptor that callers
// see.
#ifndef HEWN_LIB_CODEGEN_PROGRAM_H
#define HEWN_LIB_CODEGEN_PROGRAM_H

#include "lib/Codegen/Emit/Weights.h"
#include "lib/Codegen/Program/ProgramInterface.h"
#include "lib/Support/WeightStore.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Module.h"

namespace hewn::codegen {

struct Platform; // Emit/Machine.h

/// Maps the names of kernels in the program's module to their symbols in the artifact.
using KernelSymbols = llvm::StringMap<std::string>;

/// The kernels of a program that runs on a device. Launches refer to kernels by their index in the
/// list.
struct DeviceKernels {
  struct Kernel {
    std::string name; // symbol in the device code
    int64_t threads = 0, sharedBytes = 0;
    bool meets = false; // has grid-wide barriers, so that all blocks must run at once
    int64_t counters = 0;
  };
  std::vector<Kernel> kernels;
  llvm::StringMap<unsigned> numbers; // index in `kernels` by symbol
};

/// Emits the function `main(ctx, frame)` into `module`: the launches of `program`, with buffers as
/// the plan assigns them. Adds the program's constants to `weights`. If `device` is given, the
/// kernels are launched on the device and added to its list. If an op is not supported, emits an
/// error on it and fails.
mlir::FailureOr<llvm::Function *> emitProgram(mlir::func::FuncOp program, const ProgramInterface &interface,
                                              const KernelSymbols &kernels, const WeightStore &table, Weights &weights,
                                              llvm::Module &module, DeviceKernels *device = nullptr);

/// Where the artifact gets its weights from: a file, or a symbol that is linked in.
struct WeightsReference {
  uint64_t bytes = 0;
  std::string digest;
  /// Name of the weights file. If empty, the weights are the symbol `<name>_weights`, which is
  /// linked in.
  std::string file;
};

/// Device code, which the artifact contains as text.
struct DeviceReference {
  std::string text, language;
  /// Symbol of the runtime's function table for the device.
  std::string table;
  const DeviceKernels *kernels = nullptr;
};

/// Emits the descriptor `<name>` (a `hewn_model`), the functions that it points to, and the typed
/// functions `<name>_run` and `<name>_arena_bytes`. The descriptor refers to the functions of the
/// variants by their symbols. If `device` is null, the program runs on the host. The
/// descriptor lists the services of `platform`.
void emitDescriptor(const ProgramInterface &interface, const WeightsReference &weights, const Platform &platform,
                    llvm::Module &module, const DeviceReference *device = nullptr);

/// Returns the JSON description of the artifact, for LinkerTool::storeDescription.
std::string describeProgram(const ProgramInterface &interface, const WeightsReference &weights);
/// Returns the name of an ONNX element type (TensorProto.DataType), such as "float32" or
/// "float8e4m3fn".
llvm::StringRef elementTypeName(int32_t onnx);

/// Text that precedes the names of the targets in a model's header.
inline constexpr llvm::StringLiteral kHeaderTargets = "Code for: ";
/// Text that precedes the range of a dim in a model's header.
inline constexpr llvm::StringLiteral kHeaderRange = "\", a dim of ";
/// Returns the text of the C header `<name>.h`.
std::string headerText(const ProgramInterface &interface);

} // namespace hewn::codegen

#endif
