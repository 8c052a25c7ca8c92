// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/Files/CacheFile.h"
#include "lib/Support/Files/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using llvm::StringRef;

namespace hewn {

/// A cache file starts with this line and the hash of its content in hexadecimal.
static constexpr StringRef kMagic = "hewn cache 1\n";

ContentHash &ContentHash::operator<<(StringRef text) {
  uint64_t size = text.size();
  hash.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&size), sizeof(size)));
  hash.update(text);
  return *this;
}

std::string ContentHash::text() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

static std::string headOf(StringRef content) {
  ContentHash hash;
  hash.append(content);
  return kMagic.str() + hash.text() + "\n";
}

std::string cachePath(StringRef folder, StringRef name) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "llvmcache-" + name);
  return path.str().str();
}

std::optional<std::string> readCacheFile(StringRef path) {
  auto file =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!file)
    return std::nullopt;
  size_t head = kMagic.size() + 2 * llvm::BLAKE3().final().size() + 1;
  StringRef text = (*file)->getBuffer(), content = text.drop_front(std::min(head, text.size()));
  if (text.size() < head || text.take_front(head) != headOf(content))
    return std::nullopt;
  return content.str();
}

void writeCacheFile(StringRef path, StringRef content) {
  llvm::consumeError(writeFile(path, headOf(content) + content.str()));
}

} // namespace hewn
