// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiled module in this process, for constant folding.
#ifndef HEWN_LIB_COMPILER_EMIT_INPROCESS_H
#define HEWN_LIB_COMPILER_EMIT_INPROCESS_H

#include "lib/Codegen/Emit/Object.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace hewn {

/// Compiles a graph-stage module whose `main` has no arguments, without optimizations, runs it, and
/// returns the bytes of its results. The number of threads and the caches are those of `options`.
/// On failure, emits no diagnostic: constant folding then keeps the ops.
mlir::FailureOr<std::vector<std::vector<char>>> evaluate(mlir::OwningOpRef<mlir::ModuleOp> module,
                                                         const codegen::CodeOptions &options);

} // namespace hewn

#endif
