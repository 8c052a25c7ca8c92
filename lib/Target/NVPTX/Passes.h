// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_TARGET_NVPTX_PASSES_H
#define HEWN_LIB_TARGET_NVPTX_PASSES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace hewn::nvptx {
#define GEN_PASS_DECL
#include "lib/Target/NVPTX/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Target/NVPTX/Passes.h.inc"

/// Mnemonic that identifies the inline PTX of a warpgroup MMA in LLVM IR.
inline constexpr llvm::StringLiteral kWgmmaText = "wgmma.mma_async";
} // namespace hewn::nvptx

#endif
