// SPDX-License-Identifier: Apache-2.0
#ifndef HEWN_LIB_SUPPORT_PRINTABLE_H
#define HEWN_LIB_SUPPORT_PRINTABLE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace hewn {

/// Text from a file as one line for a terminal, and for whoever takes nothing but UTF-8: control characters and bytes that
/// are no UTF-8 stand as \xNN, new lines and tabs as spaces.
std::string printable(llvm::StringRef text);

} // namespace hewn

#endif
