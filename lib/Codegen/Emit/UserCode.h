// SPDX-License-Identifier: Apache-2.0
//
// Checks the object files and libraries that users supply, before compilation starts.
#ifndef HEWN_LIB_CODEGEN_EMIT_USERCODE_H
#define HEWN_LIB_CODEGEN_EMIT_USERCODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>

namespace hewn::codegen {

/// Returns the reason why a file cannot be linked for the triple's architecture, or "" if it can.
/// The file must be an object, an archive of objects or a shared library.
std::string whyNotLinkable(llvm::MemoryBufferRef file, llvm::StringRef triple);

} // namespace hewn::codegen

#endif
