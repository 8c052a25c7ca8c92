// SPDX-License-Identifier: Apache-2.0
//
// Code that users give, looked at before anything is compiled for it.
#ifndef HEWN_LIB_CODEGEN_EMIT_USERCODE_H
#define HEWN_LIB_CODEGEN_EMIT_USERCODE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>

namespace hewn::codegen {

/// Why a file is nothing that can be linked for the triple's architecture: an object, an archive of objects or a shared library. ""
/// where it is.
std::string whyNotLinkable(llvm::MemoryBufferRef file, llvm::StringRef triple);

} // namespace hewn::codegen

#endif
