// SPDX-License-Identifier: Apache-2.0
//
// What code may call: hewn's own functions and C's library, and nothing that a compiler brings along.
#ifndef HEWN_LIB_CODEGEN_EMIT_CALLS_H
#define HEWN_LIB_CODEGEN_EMIT_CALLS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace hewn::codegen {

/// An error that names the symbol, where an object wants one that its module does not declare and that is no function of C's
/// library: code generators call functions of their own (`__truncsfbf2`, `__divti3`) for what the machine has no instruction for,
/// and where artifacts are loaded there is no such library.
llvm::Error checkCalls(const llvm::Module &module, llvm::StringRef object);

} // namespace hewn::codegen

#endif
