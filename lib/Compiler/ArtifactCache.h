// SPDX-License-Identifier: Apache-2.0
//
// A disk cache of artifacts. The key is a hash of everything that an artifact depends on: compiler,
// options, model and external data.
//
// The artifacts share the folder and the rules of the kernel cache (lib/Codegen/Emit/CodeCache.h):
// files appear atomically, are verified when read, and are pruned together. A folder that cannot be
// read or written is not an error.
//
//     KEY-names      names of the model's external files; KEY hashes compiler, options and model
//     ENTRY-entry    files and warnings of the artifact; ENTRY hashes KEY and the external files
//     DIGEST         a file, by the hash of its content
//
// A name determines its content, so concurrent or interrupted compiles cannot mix files.
#ifndef HEWN_LIB_COMPILER_ARTIFACTCACHE_H
#define HEWN_LIB_COMPILER_ARTIFACTCACHE_H

#include "lib/Compiler/Request.h"
#include "lib/Compiler/Session.h"
#include "lib/Support/Files/OutputFile.h"
#include "llvm/Support/JSON.h"
#include <ctime>
#include <optional>

namespace hewn {

class ArtifactCache {
public:
  /// Nothing is cached if CompileOptions::cacheDir is empty, if the compile emits the text of a
  /// stage, has custom functions of this process, or is a step of a quantizing compile.
  explicit ArtifactCache(const Request &request);

  /// Copies the files of a cached artifact to the output, sets the result, and reports the
  /// artifact's warnings. Returns false if the cache does not contain the artifact.
  bool restore(CompileResult &result, Diagnostics &diagnostics);
  /// Stores the published files in the cache, unless an external file of the model has changed
  /// during the compile.
  void keep(Session &session, llvm::ArrayRef<OutputFile> written, const CompileResult &result);

private:
  /// An external file of the model: its name in the model, and the hash of its content.
  using External = std::pair<std::string, std::string>;

  /// Returns the path of the cache file `name`.
  std::string path(llvm::StringRef name) const;
  std::string entryName(llvm::ArrayRef<External> files) const;
  /// Returns the name of the cache entry, or nullopt. Adds the external files to the compile's
  /// inputs.
  std::optional<std::string> findEntry(CompileResult &result) const;
  std::optional<OutputFile> copyOut(const llvm::json::Object &file) const;
  std::optional<llvm::json::Object> copyIn(const OutputFile &file) const;
  /// Returns the folder of the model's external data, with a trailing separator.
  std::string modelFolder() const;

  const CompileOptions &options;
  bool isLibrary = false; // the output is a library, whose file is executable
  std::string key;        // hash of compiler, options and model, or empty if nothing is cached
  std::string modelDigest;
  timespec began;
};

} // namespace hewn

#endif
