// SPDX-License-Identifier: Apache-2.0
//
// Verifies that generated code calls only hewn's functions and the C library, but no compiler
// runtime library.
#ifndef HEWN_LIB_CODEGEN_EMIT_CALLS_H
#define HEWN_LIB_CODEGEN_EMIT_CALLS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace hewn::codegen {

/// Returns an error if the object has an undefined symbol that its module does not declare and that
/// is not a C library function; the error names the symbol. LLVM's code generators call helpers
/// (`__truncsfbf2`, `__divti3`) for operations without an instruction. These helpers are in
/// compiler-rt or libgcc, without which artifacts are loaded.
llvm::Error checkCalls(const llvm::Module &module, llvm::StringRef object);

} // namespace hewn::codegen

#endif
