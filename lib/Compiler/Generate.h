// SPDX-License-Identifier: Apache-2.0
//
// From the plan stage to code: what artifacts and in-process runs share.
#ifndef HEWN_LIB_COMPILER_GENERATE_H
#define HEWN_LIB_COMPILER_GENERATE_H

#include "lib/Codegen/Emit/Object.h"
#include "lib/Codegen/Program/Program.h"
#include "lib/Support/WeightTable.h"

namespace hewn {

struct GeneratedCode {
  codegen::ProgramInterface interface;
  codegen::Weights weights;
  /// The kernels in the module's order, the program last.
  std::vector<codegen::CompiledKernel> code;
};

/// Compiles kernels and program of a planned module. `options.prefix` is set by it; `weightsFile` is the name that the
/// descriptor gives (empty: the weights are linked in). `generated.interface` is filled in before.
llvm::Error generate(mlir::ModuleOp module, codegen::CodeOptions options, llvm::StringRef weightsFile,
                     const WeightTable &table, GeneratedCode &generated);

} // namespace hewn

#endif
