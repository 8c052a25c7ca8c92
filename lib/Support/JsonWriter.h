// SPDX-License-Identifier: Apache-2.0
//
// JSON that programs read: LLVM's values, from what JSON can't hold.
#ifndef HEWN_LIB_SUPPORT_JSONWRITER_H
#define HEWN_LIB_SUPPORT_JSONWRITER_H

#include "llvm/Support/JSON.h"
#include <string>

namespace hewn {

/// A name from a file: bytes that are no UTF-8 become U+FFFD.
llvm::json::Value jsonText(llvm::StringRef text);
/// null for what is infinite or no number.
llvm::json::Value jsonNumber(double number);
/// A whole document: indented by two, keys in the order of their names, a new line at its end.
std::string jsonDocument(llvm::json::Value value);

} // namespace hewn

#endif
