// SPDX-License-Identifier: Apache-2.0
//
// The flag --json (docs/reference/json.md). A command prints its text and its JSON from the same
// structs.
#ifndef HEWN_TOOLS_HEWN_JSON_H
#define HEWN_TOOLS_HEWN_JSON_H

#include "lib/Tools/Models/Record.h"

namespace hewn::tool {

/// Returns true if --json was given. Must be called before the first compilation: the linker, its
/// last step, resets all flags.
bool wantsJson();
/// Prints `record` as JSON, with the command, its input file and the version of hewn.
void printRecord(llvm::StringRef command, llvm::StringRef file, llvm::json::Object record);

} // namespace hewn::tool

#endif
