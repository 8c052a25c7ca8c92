// SPDX-License-Identifier: Apache-2.0
//
// The dialect `plan`: kernels and the program that launches them.
#ifndef HEWN_DIALECTS_PLAN_PLAN_H
#define HEWN_DIALECTS_PLAN_PLAN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Plan/PlanDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Plan/PlanAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/Plan/PlanOps.h.inc"

namespace hewn::plan {
/// The module's attribute of type TargetAttr.
inline constexpr llvm::StringLiteral kTargetAttr = "plan.target";
} // namespace hewn::plan

#endif
