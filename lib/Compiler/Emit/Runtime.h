// SPDX-License-Identifier: Apache-2.0
//
// Finds the archives that artifacts are linked with.
#ifndef HEWN_LIB_COMPILER_EMIT_RUNTIME_H
#define HEWN_LIB_COMPILER_EMIT_RUNTIME_H

#include "lib/Codegen/Emit/Machine.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace hewn {

/// Returns the path of libhewn_runtime.a for `machine`, or an empty string if there is none.
std::string findRuntime(const codegen::TargetSpec &machine);
/// Returns the paths of the archives with runtime functions that need third-party libraries. If
/// hewn was built with these libraries, the archives are in the folder of the runtime archive
/// `runtime`.
std::vector<std::string> findParts(llvm::StringRef runtime);

} // namespace hewn

#endif
