// SPDX-License-Identifier: Apache-2.0
//
// Writes JSON for other programs to read. Strings and numbers that JSON cannot represent are
// replaced.
#ifndef HEWN_LIB_SUPPORT_JSONWRITER_H
#define HEWN_LIB_SUPPORT_JSONWRITER_H

#include "llvm/Support/JSON.h"
#include <string>

namespace hewn {

/// Returns `text`, with bytes that are not UTF-8 replaced by U+FFFD.
llvm::json::Value jsonText(llvm::StringRef text);
/// Returns the number as a JSON value, which is null if the number is infinite or NaN.
llvm::json::Value jsonNumber(double number);
/// Returns the text of a JSON document with an indentation of two, sorted keys and a final newline.
std::string jsonDocument(llvm::json::Value value);

} // namespace hewn

#endif
