// SPDX-License-Identifier: Apache-2.0
//
// The weights of a stage's text, which only names them, in a file of their own.
#ifndef HEWN_LIB_COMPILER_STAGEWEIGHTS_H
#define HEWN_LIB_COMPILER_STAGEWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace hewn {

/// Returns the keys of the weights that constants of `module` refer to and whose bytes the weight
/// store of the context does not have, sorted and each once.
llvm::SmallVector<llvm::StringRef> missingWeights(mlir::ModuleOp module);

/// Adds the weights of the file `path` (lib/Support/WeightsFile.h) to the weight store of the
/// module's context. Returns an error if the file is invalid, or if a constant of `module` refers
/// to more bytes than the file has for its key.
llvm::Error loadWeights(mlir::ModuleOp module, llvm::StringRef path);

/// Writes the weights that constants of `module` refer to to the file `path`. Returns an error if
/// the weight store does not have one of them, or if the file cannot be written.
llvm::Error saveWeights(mlir::ModuleOp module, llvm::StringRef path);

} // namespace hewn

#endif
