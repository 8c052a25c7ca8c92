// SPDX-License-Identifier: Apache-2.0
//
// Running what was just compiled, in this process: for constant folding.
#ifndef HEWN_LIB_COMPILER_INPROCESS_H
#define HEWN_LIB_COMPILER_INPROCESS_H

#include "lib/Codegen/Emit/Object.h"
#include "lib/Support/WeightTable.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace hewn {

/// Compiles a graph-stage module whose `main` has no arguments, without optimizations, runs it and returns the bytes of
/// the results. `options`: objects, and where they are kept. Fails without a word where that can't be done: folding then leaves the ops as they are.
mlir::FailureOr<std::vector<std::vector<char>>> evaluate(mlir::OwningOpRef<mlir::ModuleOp> module, WeightTable &weights,
                                                         const codegen::CodeOptions &options);

} // namespace hewn

#endif
