// SPDX-License-Identifier: Apache-2.0
//
// The dialect `grid`: what one thread of a grid does beyond loops and arithmetic.
#ifndef HEWN_DIALECTS_GRID_GRID_H
#define HEWN_DIALECTS_GRID_GRID_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hewn::grid {
/// Where ops stand that all threads of a warp or a block do together.
struct ConvergenceResource : mlir::SideEffects::Resource::Base<ConvergenceResource> {
  llvm::StringRef getName() override { return "<convergence>"; }
};

/// Holds a product of matrices to factors that there are: both of one float type with sums of float32, or bytes with sums of i32.
mlir::LogicalResult verifyFactors(mlir::Operation *op, mlir::Type left, mlir::Type right, mlir::TypeRange sums,
                                  mlir::TypeRange results);
} // namespace hewn::grid

#include "dialects/Grid/GridDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Grid/GridOps.h.inc"

#endif
