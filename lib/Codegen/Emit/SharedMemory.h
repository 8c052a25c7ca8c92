// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_CODEGEN_EMIT_SHAREDMEMORY_H
#define HEWN_LIB_CODEGEN_EMIT_SHAREDMEMORY_H

namespace llvm {
class Module;
} // namespace llvm

namespace hewn::codegen {

/// Puts the shared memory of each function of a joint kernel at the same place: the parts run one after another, and a block's
/// threads wait for each other in between.
void shareMemoryOfParts(llvm::Module &module);

} // namespace hewn::codegen

#endif
