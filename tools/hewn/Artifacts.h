// SPDX-License-Identifier: Apache-2.0
//
// What compiled files say of themselves. They are only read: no code of them runs, and nothing in them is trusted.
#ifndef HEWN_TOOLS_HEWN_ARTIFACTS_H
#define HEWN_TOOLS_HEWN_ARTIFACTS_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace hewn::tool {

/// Whether a file is an ELF file or an archive, whatever its name.
bool isArtifact(llvm::StringRef bytes);

struct ArtifactDescription {
  /// "library", "object", "archive" or "program".
  std::string kind;
  /// As LLVM calls it: "x86_64".
  std::string architecture;
  /// One a model, as docs/reference/json.md has them.
  std::vector<llvm::json::Object> models;
};

/// Reads the notes of an ELF file, or of an archive's members. An error where that is damaged, or where hewn has not made it.
llvm::Expected<ArtifactDescription> describeArtifact(llvm::MemoryBufferRef file);

} // namespace hewn::tool

#endif
