// SPDX-License-Identifier: Apache-2.0
//
// The dialect `simt`: the operations of one GPU thread that are not loops, arithmetic or memory
// accesses.
#ifndef HEWN_DIALECTS_SIMT_GRID_H
#define HEWN_DIALECTS_SIMT_GRID_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace hewn::simt {
/// Resource on which ops have a side effect if all threads of a warp or block must execute them
/// together. The side effect keeps MLIR from moving, merging or erasing these ops.
struct ConvergenceResource : mlir::SideEffects::Resource::Base<ConvergenceResource> {
  llvm::StringRef getName() override { return "<convergence>"; }
};

/// Verifies the types of an MMA op: either both operands have the same float type and the
/// accumulators are f32, or both operands are i8 or ui8 and the accumulators are i32. Emits an
/// error on `op` otherwise.
mlir::LogicalResult verifyFactors(mlir::Operation *op, mlir::Type left, mlir::Type right, mlir::TypeRange sums,
                                  mlir::TypeRange results);
} // namespace hewn::simt

#include "dialects/Simt/SimtDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Simt/SimtOps.h.inc"

#endif
