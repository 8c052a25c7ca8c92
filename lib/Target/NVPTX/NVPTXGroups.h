// SPDX-License-Identifier: Apache-2.0
//
// Products of groups of warps (lib/Codegen/Grid/Grid.h) as instructions of machines that have `wgmma`.
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXGROUPS_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXGROUPS_H

#include "llvm/IR/Module.h"

namespace hewn::nvptx {

/// Whether the function is one of those products, or a wait for them, which LLVM has no intrinsic for.
bool isGroupFunction(const llvm::Function &function);

/// Calls of such functions become instructions; the functions are gone.
void useGroupInstructions(llvm::Module &module);

} // namespace hewn::nvptx

#endif
