// SPDX-License-Identifier: Apache-2.0
//
// Files of a cache: named by a hash of all that their content depends on, and checked against a hash of the content when they
// are read. What is not whole is not there.
#ifndef HEWN_LIB_SUPPORT_FILES_CACHEFILE_H
#define HEWN_LIB_SUPPORT_FILES_CACHEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include <optional>
#include <string>

namespace hewn {

/// A hash of texts and numbers; where one ends matters.
class ContentHash {
public:
  ContentHash &operator<<(llvm::StringRef text);
  ContentHash &operator<<(int64_t number) { return *this << llvm::StringRef(std::to_string(number)); }
  /// Bytes that go on from those before.
  void append(llvm::StringRef bytes) { hash.update(bytes); }
  /// In hex.
  std::string text();

private:
  llvm::BLAKE3 hash;
};

/// Where a cache keeps `name`. LLVM's pruning of caches takes these files for its own.
std::string cachePath(llvm::StringRef folder, llvm::StringRef name);

/// What `writeCacheFile` wrote; nothing where there is no such file, or another content than was written.
std::optional<std::string> readCacheFile(llvm::StringRef path);
/// A folder that can't be written is no failure: nothing is kept then.
void writeCacheFile(llvm::StringRef path, llvm::StringRef content);

} // namespace hewn

#endif
