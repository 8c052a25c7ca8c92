// SPDX-License-Identifier: Apache-2.0
//
// From the plan stage to code: what artifacts and in-process runs share.
#ifndef HEWN_LIB_COMPILER_GENERATE_H
#define HEWN_LIB_COMPILER_GENERATE_H

#include "lib/Codegen/Emit/Object.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Support/WeightTable.h"

namespace hewn {

/// The model planned for one machine: a module for each of its cases, null where that can't be run.
struct PlannedVariant {
  codegen::MachineSpec machine;
  llvm::SmallVector<mlir::ModuleOp, 1> cases;
};

/// In front of the names of all functions of case `number` of `count`: `before` and `dot`, and the number where there are several.
std::string casePrefix(llvm::StringRef before, llvm::StringRef dot, size_t number, size_t count);

struct GeneratedCode {
  codegen::ProgramInterface interface;
  codegen::Weights weights;
  /// The kernels (each once, whatever number of variants it serves), the programs, the descriptor.
  std::vector<codegen::CompiledUnit> code;
  size_t numKernels = 0, numPrograms = 0;
};

/// A failure of which MLIR's diagnostics have told already.
class ToldError : public llvm::ErrorInfo<ToldError> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override { os << "told before"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// Compiles kernels and programs of planned modules, and the descriptor for `base`, which all of the machines have: it runs
/// before one is chosen. A device comes alone. `variants` are in the order in which a loader tries them. `weightsFile` is the name that the
/// descriptor gives (empty: the weights are linked in). `generated.interface` is filled in before, but for its variants.
llvm::Error generate(llvm::ArrayRef<PlannedVariant> variants, const codegen::MachineSpec &base,
                     const codegen::CodeOptions &options, llvm::StringRef weightsFile, const WeightTable &table,
                     GeneratedCode &generated);

} // namespace hewn

#endif
