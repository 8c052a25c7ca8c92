// SPDX-License-Identifier: Apache-2.0
//
// Passes of the loops stage at -O0.
#ifndef HEWN_LIB_TRANSFORMS_LOWER_PASSES_H
#define HEWN_LIB_TRANSFORMS_LOWER_PASSES_H

#include "dialects/Plan/Plan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace hewn {
#define GEN_PASS_DECL
#include "lib/Transforms/Lower/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Transforms/Lower/Passes.h.inc"
} // namespace hewn

#endif
