// SPDX-License-Identifier: Apache-2.0
//
// Caches of generated code: on disk (CodeCache), or in memory for the compiles of one process
// (CodeStore). The key is a hash of all inputs of code generation.
//
// Several compiles may use a folder at the same time: files are published atomically and verified
// when they are read (lib/Support/Files/CacheFile.h). An unreadable or unwritable folder is not an
// error.
#ifndef HEWN_LIB_CODEGEN_EMIT_CODECACHE_H
#define HEWN_LIB_CODEGEN_EMIT_CODECACHE_H

#include "lib/Codegen/Emit/Object.h"
#include <mutex>

namespace hewn::codegen {

/// In-memory map from the hash of the inputs to the generated code. Thread-safe.
class CodeStore {
public:
  std::optional<std::string> find(llvm::StringRef key) const;
  void keep(llvm::StringRef key, llvm::StringRef code);

private:
  mutable std::mutex mutex;
  llvm::StringMap<std::string> codes;
};

class CodeCache {
public:
  /// Opens the caches that `options` names: the folder `cacheDir`, which is created, and `store`.
  /// Without either, nothing is cached.
  explicit CodeCache(const CodeOptions &options);

  /// Returns the code that was cached for these texts, target and options. If there is none, calls
  /// `make` and caches its result.
  llvm::Expected<std::string> find(llvm::ArrayRef<llvm::StringRef> texts, const TargetSpec &machine,
                                   llvm::function_ref<llvm::Expected<std::string>()> make) const;
  /// Drops the least recently used entries if the folder is larger than 1 GiB.
  void prune() const;

private:
  const CodeOptions &options;
};

} // namespace hewn::codegen

#endif
