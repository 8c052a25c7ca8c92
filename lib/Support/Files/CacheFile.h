// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes cache files. The name of a cache file is a hash of everything that its content
// depends on. The file also contains a hash of its content; if that hash does not match, readers
// treat the file as missing.
#ifndef HEWN_LIB_SUPPORT_FILES_CACHEFILE_H
#define HEWN_LIB_SUPPORT_FILES_CACHEFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include <optional>
#include <string>

namespace hewn {

/// A hash of a sequence of strings and numbers. Sequences that differ only in the boundaries
/// between strings, such as "a", "bc" and "ab", "c", have different hashes.
class ContentHash {
public:
  ContentHash &operator<<(llvm::StringRef text);
  ContentHash &operator<<(int64_t number) { return *this << llvm::StringRef(std::to_string(number)); }
  /// Adds bytes to the hash without marking where they start or end, so that a long string can be
  /// added in pieces.
  void append(llvm::StringRef bytes) { hash.update(bytes); }
  /// Returns the content hash in hexadecimal.
  std::string text();

private:
  llvm::BLAKE3 hash;
};

/// Returns the path of the cache file `name` in `folder`. The file name has the prefix by which
/// LLVM's cache pruning recognizes its files.
std::string cachePath(llvm::StringRef folder, llvm::StringRef name);

/// Returns the content of a cache file that `writeCacheFile` wrote, or nullopt if the file does not
/// exist or is corrupt.
std::optional<std::string> readCacheFile(llvm::StringRef path);
/// Writes a cache file. Errors, such as a read-only folder, are ignored: the content is then
/// computed again next time.
void writeCacheFile(llvm::StringRef path, llvm::StringRef content);

} // namespace hewn

#endif
