// SPDX-License-Identifier: Apache-2.0
//
// Files that somebody else has made. What is looked at is what was opened: no name is resolved twice.
#ifndef HEWN_LIB_SUPPORT_FILES_INPUTFILE_H
#define HEWN_LIB_SUPPORT_FILES_INPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>

namespace hewn {

/// A regular file, mapped where it is large. Null, and the reason, for all else: devices and FIFOs may have no end, or no beginning.
std::unique_ptr<llvm::MemoryBuffer> openRegular(llvm::StringRef path, std::string &reason);

/// The same for a path inside of `folder` that a stranger has written: relative, not out of the folder, over no link of either
/// kind. The reason goes on from "which".
std::unique_ptr<llvm::MemoryBuffer> openInside(llvm::StringRef folder, llvm::StringRef location, std::string &reason);

} // namespace hewn

#endif
