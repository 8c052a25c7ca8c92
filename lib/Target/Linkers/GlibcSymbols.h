// SPDX-License-Identifier: Apache-2.0
//
// The functions of glibc 2.17 that artifacts may call, with the library that exports each one there
// and its symbol version. Shared libraries that hewn links load on this and all later versions.
#ifndef HEWN_LIB_TARGET_LINKERS_GLIBCSYMBOLS_H
#define HEWN_LIB_TARGET_LINKERS_GLIBCSYMBOLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn::target {

/// The functions of a library with the same symbol version on x86-64.
struct GlibcVersion {
  llvm::StringLiteral version;
  /// Separated by spaces.
  llvm::StringLiteral functions;
};

struct GlibcLibrary {
  llvm::StringLiteral soname;
  /// Link the library even if no function of it is called.
  bool always;
  /// Oldest version first.
  llvm::ArrayRef<GlibcVersion> versions;
};

/// Returns the libraries of glibc 2.17. From 2.34 on, libc.so.6 exports the functions of
/// libpthread.so.0, libdl.so.2 and librt.so.1 with the same versions, and these libraries remain,
/// without functions.
llvm::ArrayRef<GlibcLibrary> glibcLibraries();

/// Returns true if one of the libraries exports the function.
bool isInGlibc(llvm::StringRef function);

/// Returns a version script that defines the symbol versions of the library. `oldest` is glibc's
/// first version for the architecture if that is 2.17 or newer: all functions then have this
/// version. For older architectures it is empty, and functions have the versions of x86-64.
std::string glibcVersionScript(const GlibcLibrary &library, llvm::StringRef oldest);

} // namespace hewn::target

#endif
