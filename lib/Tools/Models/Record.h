// SPDX-License-Identifier: Apache-2.0
//
// JSON output of commands, for --json (docs/reference/json.md). A command prints its text and its
// JSON from the same structs.
#ifndef HEWN_LIB_TOOLS_MODELS_RECORD_H
#define HEWN_LIB_TOOLS_MODELS_RECORD_H

#include "lib/Compiler/Load/LoadedLibrary.h"
#include "lib/Support/JsonWriter.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hewn::tool {

/// Returns `record` as a JSON document, with the command, its input file and the version of hewn.
std::string documentOf(llvm::StringRef command, llvm::StringRef file, llvm::json::Object record);

/// Returns a size as text, for example "233.1 kB".
std::string bytesText(double count);

/// Calls `visit` with each object of the array `key`, if the array exists.
void eachObject(const llvm::json::Object &of, llvm::StringRef key,
                llvm::function_ref<void(const llvm::json::Object &)> visit);
/// Return the string or the number with this key in a JSON object, or an empty string or 0 if the
/// key is absent.
llvm::StringRef textOf(const llvm::json::Object &of, llvm::StringRef key);
double numberOf(const llvm::json::Object &of, llvm::StringRef key);

/// Returns the JSON object {"name", "type", "shape"} that describes an array.
llvm::json::Object recordOf(llvm::StringRef name, const Array &array);

} // namespace hewn::tool

#endif
