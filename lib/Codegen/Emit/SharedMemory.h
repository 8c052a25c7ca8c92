// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_CODEGEN_EMIT_SHAREDMEMORY_H
#define HEWN_LIB_CODEGEN_EMIT_SHAREDMEMORY_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
} // namespace llvm

namespace hewn::codegen {

/// Overlaps the shared-memory variables of a persistent kernel's phases, which run one after
/// another with block-wide barriers in between. Variables that several phases use are placed after
/// the overlapped memory, so that they persist. `kernel` is the kernel's symbol, from which the
/// name of the combined variable is derived.
void shareMemoryOfParts(llvm::Module &module, llvm::StringRef kernel);

} // namespace hewn::codegen

#endif
