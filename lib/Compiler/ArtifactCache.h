// SPDX-License-Identifier: Apache-2.0
//
// Whole artifacts on disk, by a hash of all that they depend on: the compiler, the options, the model and its external data.
//
// They lie in the same folder as the code of kernels (lib/Codegen/Emit/CodeCache.h), by the same rules: written beside and renamed,
// pruned together, and a folder that can't be written or read is no failure.
#ifndef HEWN_LIB_COMPILER_ARTIFACTCACHE_H
#define HEWN_LIB_COMPILER_ARTIFACTCACHE_H

#include "lib/Compiler/Compilation.h"

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
  /// Where a part of this compile's entry lies.
  std::string path(llvm::StringRef part) const;
  /// The folder that the model's external data is in, with a separator behind it.
  std::string modelFolder() const;

  Compilation &c;
  std::string key; // empty: nothing is kept
};

} // namespace hewn

#endif
