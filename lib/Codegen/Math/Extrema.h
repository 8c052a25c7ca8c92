// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_CODEGEN_MATH_EXTREMA_H
#define HEWN_LIB_CODEGEN_MATH_EXTREMA_H

#include "mlir/IR/Operation.h"

namespace hewn::codegen {

/// Rewrites the trees of NaN-propagating maxima and minima of vectors inside of an op, including
/// those that reduce the last vector's lanes by halving it. The new code has extrema without NaN
/// propagation and a separate NaN test.
void expandExtrema(mlir::Operation *within);

} // namespace hewn::codegen

#endif
