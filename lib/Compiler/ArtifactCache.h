// SPDX-License-Identifier: Apache-2.0
//
// Whole artifacts on disk, by a hash of all that they depend on: the compiler, the options, the model and its external data.
//
// They lie in the same folder as the code of kernels (lib/Codegen/Emit/CodeCache.h), by the same rules: there whole or not at all,
// checked when they are read, pruned together, and a folder that can't be written or read is no failure.
//
//     KEY-names      which external files the model names; KEY: compiler, options, the model's bytes
//     ENTRY-entry    the files of the artifact, its warnings; ENTRY: KEY, and what is in the external files
//     DIGEST         a file, by its content
//
// Nothing is ever there under another name than its own, so compiles that run at once, or end in the middle, can't mix.
#ifndef HEWN_LIB_COMPILER_ARTIFACTCACHE_H
#define HEWN_LIB_COMPILER_ARTIFACTCACHE_H

#include "lib/Compiler/Compilation.h"
#include "llvm/Support/JSON.h"
#include <ctime>
#include <optional>

namespace hewn {

class ArtifactCache {
public:
  /// For a compile whose options are checked. Text of a stage is not kept, nor anything without CompileOptions::cacheDir.
  explicit ArtifactCache(Compilation &compilation);

  /// Writes the files of an equal compile where this one wants them, and reports its warnings. False where there was none.
  bool restore();
  /// Keeps what the compile has written.
  void keep();

private:
  /// The name of an external file, as the model has it, and a hash of its content.
  using External = std::pair<std::string, std::string>;

  /// Where the cache keeps `name`.
  std::string path(llvm::StringRef name) const;
  std::string entryName(llvm::ArrayRef<External> files) const;
  std::optional<std::string> findEntry() const;
  std::optional<OutputFile> copyOut(const llvm::json::Object &file) const;
  std::optional<llvm::json::Object> copyIn(const OutputFile &file) const;
  /// The folder that the model's external data is in, with a separator behind it.
  std::string modelFolder() const;

  Compilation &c;
  std::string key; // empty: nothing is kept
  std::string modelDigest;
  timespec began;
};

} // namespace hewn

#endif
