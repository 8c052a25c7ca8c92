// SPDX-License-Identifier: Apache-2.0
//
// Generates code from planned modules, for artifacts and for runs in this process.
#ifndef HEWN_LIB_COMPILER_EMIT_GENERATE_H
#define HEWN_LIB_COMPILER_EMIT_GENERATE_H

#include "lib/Codegen/Emit/Object.h"
#include "lib/Codegen/Program/Program.h"

namespace hewn {

/// The planned modules of one target, one for each case. The module of a case that cannot run is
/// null.
struct PlannedTarget {
  codegen::TargetSpec machine;
  llvm::SmallVector<mlir::ModuleOp, 1> cases;
};

/// Returns the symbol prefix of the program for case `number`: `before`, `dot` and, if the model
/// has several cases (`count`), "case", the number and `dot` again. Example: "model.case1.".
std::string casePrefix(llvm::StringRef before, llvm::StringRef dot, size_t number, size_t count);

struct GeneratedCode {
  codegen::ProgramInterface interface;
  codegen::Weights weights;
  /// Compiled object files: those of kernels (one per kernel, even if several variants share it),
  /// those of host programs, and that of the descriptor.
  std::vector<codegen::CompiledUnit> code;
  size_t numKernels = 0, numPrograms = 0;
};

/// Error value for a failure that MLIR diagnostics have already reported.
class ReportedError : public llvm::ErrorInfo<ReportedError> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override { os << "already reported"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// Compiles the kernels and programs of planned modules, and the descriptor of the model.
/// `variants` are in the order in which a loader tries them; a device has only one. The descriptor
/// is compiled for `base`, whose instruction sets all targets have, because its code runs before a
/// variant is chosen. `weightsFile` is the name of the weights file that the descriptor contains,
/// or empty if the weights are linked into the artifact. All fields of `generated.interface` except
/// its variants must be set.
llvm::Error generate(llvm::ArrayRef<PlannedTarget> variants, const codegen::TargetSpec &base,
                     const codegen::CodeOptions &options, llvm::StringRef weightsFile, GeneratedCode &generated);

} // namespace hewn

#endif
