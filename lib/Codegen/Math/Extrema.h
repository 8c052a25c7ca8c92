// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_CODEGEN_MATH_EXTREMA_H
#define HEWN_LIB_CODEGEN_MATH_EXTREMA_H

#include "mlir/IR/BuiltinOps.h"

namespace hewn::codegen {

/// Rewrites trees of maxima and of minima of vectors in which NaN counts, and the lanes of the last one that are halved until one is left, as extrema in
/// which NaN may be lost, and whether there is a NaN.
void expandExtrema(mlir::ModuleOp module);

} // namespace hewn::codegen

#endif
