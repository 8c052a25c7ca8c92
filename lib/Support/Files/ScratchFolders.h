// SPDX-License-Identifier: Apache-2.0
//
// Creates and removes temporary folders. A program that is interrupted removes all of its folders
// that still exist (removeScratchFolders).
#ifndef HEWN_LIB_SUPPORT_FILES_SCRATCHFOLDERS_H
#define HEWN_LIB_SUPPORT_FILES_SCRATCHFOLDERS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace hewn {

/// Creates a scratch folder in the system's temporary folder and returns its path.
llvm::Expected<std::string> makeScratchFolder();
/// Creates a scratch folder in `parent` and returns its path. The folder is for files that are
/// later renamed to a path on the same file system, so its permissions follow the umask.
llvm::Expected<std::string> makeScratchFolderIn(llvm::StringRef parent);
/// Removes a scratch folder and its contents.
void removeScratchFolder(llvm::StringRef folder);
/// Registers `folder`, which was created for output files that do not exist yet. If the program is
/// interrupted, removeScratchFolders removes the folder unless it contains files.
void awaitResultsIn(llvm::StringRef folder);
/// Unregisters an output folder that was registered by the function above, and removes the folder
/// if it is empty.
void endResultsIn(llvm::StringRef folder);
/// Removes all scratch folders that still exist. The program must end afterwards, because later
/// calls of the functions in this file block. Must not be called from a signal handler.
void removeScratchFolders();

} // namespace hewn

#endif
