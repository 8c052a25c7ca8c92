// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_CODEGEN_EMIT_SHAREDMEMORY_H
#define HEWN_LIB_CODEGEN_EMIT_SHAREDMEMORY_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
} // namespace llvm

namespace hewn::codegen {

/// Puts the shared memory of each function of a joint kernel at the same place: the parts run one after another, and a block's
/// threads wait for each other in between. What several functions use, they keep: it is behind all of that. `kernel`: its symbol, which no other kernel's memory is named by.
void shareMemoryOfParts(llvm::Module &module, llvm::StringRef kernel);

} // namespace hewn::codegen

#endif
