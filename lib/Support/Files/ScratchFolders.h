// SPDX-License-Identifier: Apache-2.0
//
// Folders for files that nobody wants to keep. A program that is interrupted removes those that are left.
#ifndef HEWN_LIB_SUPPORT_FILES_SCRATCHFOLDERS_H
#define HEWN_LIB_SUPPORT_FILES_SCRATCHFOLDERS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace hewn {

/// A new folder, in the one that the system has for such.
llvm::Expected<std::string> makeScratchFolder();
/// Removes it with all that is in it.
void removeScratchFolder(llvm::StringRef folder);
/// All that were made and not removed. Not to be called in a signal handler.
void removeScratchFolders();

} // namespace hewn

#endif
