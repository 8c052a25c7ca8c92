// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_SUPPORT_PRINTABLE_H
#define HEWN_LIB_SUPPORT_PRINTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn {

/// Returns text from a file as one line of printable UTF-8. Control characters and invalid bytes
/// become \xNN; newlines and tabs become spaces.
std::string printable(llvm::StringRef text);

/// Returns the element of `names` that is the most similar to the misspelled name `given`, or "" if
/// none is similar.
llvm::StringRef nearestName(llvm::StringRef given, llvm::ArrayRef<llvm::StringRef> names);

} // namespace hewn

#endif
