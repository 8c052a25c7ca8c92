// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/JsonWriter.h"

#include "llvm/Support/FormatVariadic.h"
#include <cmath>

namespace json = llvm::json;

namespace hewn {

json::Value jsonText(llvm::StringRef text) { return json::isUTF8(text) ? text.str() : json::fixUTF8(text); }

json::Value jsonNumber(double number) { return std::isfinite(number) ? json::Value(number) : json::Value(nullptr); }

std::string jsonDocument(json::Value value) { return llvm::formatv("{0:2}\n", value).str(); }

} // namespace hewn
