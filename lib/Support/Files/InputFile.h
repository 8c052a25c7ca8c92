// SPDX-License-Identifier: Apache-2.0
//
// Opens untrusted files. Files are checked through their open file descriptors. If the checks used
// the path, another process could replace the file between a check and its use.
#ifndef HEWN_LIB_SUPPORT_FILES_INPUTFILE_H
#define HEWN_LIB_SUPPORT_FILES_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <ctime>
#include <memory>
#include <string>

namespace hewn {

/// Opens a regular file and returns its content; large files are mapped. For other files, such as
/// devices and FIFOs, whose size is unknown, returns null and sets `reason`.
std::unique_ptr<llvm::MemoryBuffer> openRegular(llvm::StringRef path, std::string &reason);

/// Opens the regular file at `location`, a path from an untrusted source. The path must be relative
/// to `folder`, must not lead out of it, and must not contain symbolic links. The file must have no
/// other hard links. Otherwise returns null and sets `reason` to a clause that follows "which" in a
/// message.
std::unique_ptr<llvm::MemoryBuffer> openInside(llvm::StringRef folder, llvm::StringRef location, std::string &reason);

/// Returns the time of the clock that file systems use for file times.
timespec fileTime();
/// Returns true if the file may have changed after `time`, or does not exist.
bool changedSince(const std::string &path, timespec time);

} // namespace hewn

#endif
