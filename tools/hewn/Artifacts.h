// SPDX-License-Identifier: Apache-2.0
//
// Reads the descriptions of models from compiled files. Does not run their code, and treats all
// their contents as untrusted.
#ifndef HEWN_TOOLS_HEWN_ARTIFACTS_H
#define HEWN_TOOLS_HEWN_ARTIFACTS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace hewn::tool {

/// Returns true if the contents of a file are in an object format that hewn writes, or an archive.
bool isArtifact(llvm::StringRef bytes);

struct ArtifactDescription {
  /// "library", "object", "archive" or "program".
  std::string kind;
  /// Target architecture by its LLVM name, for example "x86_64".
  std::string architecture;
  /// One description per model (docs/reference/json.md).
  std::vector<llvm::json::Object> models;
};

/// Reads the descriptions in a file, or in the members of an archive. Returns an error if the file
/// is damaged or was not written by hewn.
llvm::Expected<ArtifactDescription> describeArtifact(llvm::MemoryBufferRef file);

} // namespace hewn::tool

#endif
