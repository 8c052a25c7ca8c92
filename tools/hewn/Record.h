// SPDX-License-Identifier: Apache-2.0
//
// What a command has to say, for programs: --json (docs/reference/json.md). Text and JSON of a command are made of the same structs.
#ifndef HEWN_TOOLS_HEWN_RECORD_H
#define HEWN_TOOLS_HEWN_RECORD_H

#include "lib/Compiler/LoadedLibrary.h"
#include "lib/Support/JsonWriter.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace hewn::tool {

/// Whether --json was given. To be read before anything is compiled: the linker, which compiling ends with, resets all flags.
bool wantsJson();
/// Prints `record` with the command, the file that it is about and hewn's version.
void printRecord(llvm::StringRef command, llvm::StringRef file, llvm::json::Object record);

/// "233.1 kB"
std::string bytesText(double count);

// Reading a record.
/// Calls `visit` with each object of the array `key`.
void eachObject(const llvm::json::Object &of, llvm::StringRef key,
                llvm::function_ref<void(const llvm::json::Object &)> visit);
/// Empty, or zero, where there is none.
llvm::StringRef textOf(const llvm::json::Object &of, llvm::StringRef key);
double numberOf(const llvm::json::Object &of, llvm::StringRef key);

/// {"name", "type", "shape"}
llvm::json::Object recordOf(llvm::StringRef name, const Array &array);

} // namespace hewn::tool

#endif
