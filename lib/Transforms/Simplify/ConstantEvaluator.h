// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_TRANSFORMS_SIMPLIFY_CONSTANTEVALUATOR_H
#define HEWN_LIB_TRANSFORMS_SIMPLIFY_CONSTANTEVALUATOR_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <functional>
#include <vector>

namespace hewn {

/// Runs the function `main` of a graph-stage module, which has no arguments, and gives the bytes of its results.
/// Transforms may not see the compiler, so it comes from above; the module is used up.
using ConstantEvaluator =
    std::function<mlir::FailureOr<std::vector<std::vector<char>>>(mlir::OwningOpRef<mlir::ModuleOp>)>;

} // namespace hewn

#endif
