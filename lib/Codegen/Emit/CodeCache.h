// SPDX-License-Identifier: Apache-2.0
//
// Code on disk, by a hash of all that it depends on.
//
// Or in memory, for some compiles of one process: CodeStore.
//
// Several compiles may use a folder at once: a file is there whole or not at all, and checked when it is read
// (lib/Support/Files/CacheFile.h). A folder that can't be written or read is no failure.
#ifndef HEWN_LIB_CODEGEN_EMIT_CODECACHE_H
#define HEWN_LIB_CODEGEN_EMIT_CODECACHE_H

#include "lib/Codegen/Emit/Object.h"
#include <mutex>

namespace hewn::codegen {

/// Code in memory, by a hash of all that it depends on. Threads may use it at once.
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
  /// In options.cacheDir, which is made, and in options.store; where there is neither nothing is kept.
  explicit CodeCache(const CodeOptions &options);

  /// The code that `make` gives, or gave before for the same texts, machine and options.
  llvm::Expected<std::string> find(llvm::ArrayRef<llvm::StringRef> texts, const MachineSpec &machine,
                                   llvm::function_ref<llvm::Expected<std::string>()> make) const;
  /// Drops what was not used for longest where the folder is larger than 1 GiB.
  void prune() const;

private:
  const CodeOptions &options;
};

} // namespace hewn::codegen

#endif
