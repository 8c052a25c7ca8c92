// SPDX-License-Identifier: Apache-2.0
//
// Verifies that generated code calls only hewn's functions and the C library, but no compiler
// runtime library.
#ifndef HEWN_LIB_CODEGEN_EMIT_CALLS_H
#define HEWN_LIB_CODEGEN_EMIT_CALLS_H

#include "lib/Codegen/Emit/LinkerTool.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace llvm {
class Module;
} // namespace llvm

namespace hewn::codegen {

/// Returns an error if the object has an undefined symbol that its module does not declare and that
/// is neither a C library function nor defined by the linker; the error names the symbol. LLVM's
/// code generators call helpers (`__truncsfbf2`, `__divti3`) for operations without an instruction.
/// These helpers are in compiler-rt or libgcc, without which artifacts are loaded.
llvm::Error checkCalls(const llvm::Module &module, llvm::StringRef object, const LinkerTool &linker);

} // namespace hewn::codegen

#endif
