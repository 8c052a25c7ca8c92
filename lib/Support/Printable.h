// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_SUPPORT_PRINTABLE_H
#define HEWN_LIB_SUPPORT_PRINTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn {

/// Text from a file as one line for a terminal, and for whoever takes nothing but UTF-8: control characters and bytes that
/// are no UTF-8 stand as \xNN, new lines and tabs as spaces.
std::string printable(llvm::StringRef text);

/// The one of `names` that `given` was probably meant to be; empty where none is near.
llvm::StringRef nearestName(llvm::StringRef given, llvm::ArrayRef<llvm::StringRef> names);

} // namespace hewn

#endif
