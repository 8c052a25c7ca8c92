// SPDX-License-Identifier: Apache-2.0
//
// Gates and fetched boxes (lib/Codegen/Grid/Grid.h) as instructions: mbarriers, and the copies of the machine's tensor memory unit
// (TMA).
#ifndef HEWN_LIB_TARGET_NVPTX_NVPTXGATES_H
#define HEWN_LIB_TARGET_NVPTX_NVPTXGATES_H

#include "llvm/IR/Module.h"

namespace hewn::nvptx {

/// Calls of such functions become instructions; the functions are gone. Tensors among the kernel's arguments stay where the
/// launch puts them.
void useGateInstructions(llvm::Module &module, llvm::Function &kernel);

} // namespace hewn::nvptx

#endif
