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
/// One in `parent`, of what is then given its place nearby; the umask says who may read it.
llvm::Expected<std::string> makeScratchFolderIn(llvm::StringRef parent);
/// Removes it with all that is in it.
void removeScratchFolder(llvm::StringRef folder);
/// `folder` was made for results that are still to come: removeScratchFolders removes it too, where it is empty.
void awaitResultsIn(llvm::StringRef folder);
/// Nothing more comes into `folder`, which is removed where it is empty.
void endResultsIn(llvm::StringRef folder);
/// All that were made and not removed, by a program that ends then: who asks for one, or removes one, waits for that. Not to be called in a signal
/// handler.
void removeScratchFolders();

} // namespace hewn

#endif
