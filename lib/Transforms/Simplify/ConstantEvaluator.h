// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_CONSTANTEVALUATOR_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_CONSTANTEVALUATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <vector>

namespace hewn {

/// Compiles and runs the function `main` of a graph-stage module, and returns the bytes of each
/// result. `main` has no arguments. The module is consumed. The caller of a pass passes this
/// function in as a callback, because lib/Transforms must not depend on lib/Compiler.
using ConstantEvaluator =
    std::function<mlir::FailureOr<std::vector<std::vector<char>>>(mlir::OwningOpRef<mlir::ModuleOp>)>;

} // namespace hewn

#endif
