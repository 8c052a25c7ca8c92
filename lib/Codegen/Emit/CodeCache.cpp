// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/CodeCache.h"
#include "lib/Support/Files/CacheFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace hewn::codegen {

/// Hash of hewn's own sources that determine the generated code; part of each cache key.
static constexpr char kCodeId[] =
#include "lib/Codegen/Emit/CodeId.inc"
    ;

/// Size limit of the cache in bytes. Beyond it, the least recently used entries are dropped.
static constexpr uint64_t kMaxBytes = uint64_t(1) << 30;

std::optional<std::string> CodeStore::find(StringRef key) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = codes.find(key);
  return found == codes.end() ? std::nullopt : std::optional(found->second);
}

void CodeStore::keep(StringRef key, StringRef code) {
  std::lock_guard<std::mutex> lock(mutex);
  codes.try_emplace(key, code);
}

CodeCache::CodeCache(const CodeOptions &options) : options(options) {
  if (!options.cacheDir.empty())
    (void)sys::fs::create_directories(options.cacheDir);
}

Expected<std::string> CodeCache::find(ArrayRef<StringRef> texts, const TargetSpec &machine,
                                      function_ref<Expected<std::string>()> make) const {
  if (options.cacheDir.empty() && !options.store)
    return make();
  SHA256 hash;
  SmallVector<StringRef> all = {LLVM_VERSION_STRING, kCodeId, machine.triple, machine.cpu, machine.features};
  all.append(texts.begin(), texts.end());
  for (StringRef text : all) {
    hash.update(std::to_string(text.size()));
    hash.update(text);
  }
  uint8_t rest[] = {uint8_t(options.form), uint8_t(options.optimize), uint8_t(options.fuseProducts),
                    uint8_t(options.namesByContent), uint8_t(machine.vectorBytes)};
  hash.update(rest);
  std::string key = toHex(hash.final(), /*LowerCase=*/true);
  if (options.store)
    if (std::optional<std::string> kept = options.store->find(key))
      return std::move(*kept);
  std::string path = options.cacheDir.empty() ? "" : cachePath(options.cacheDir, key);
  std::optional<std::string> kept = path.empty() ? std::nullopt : readCacheFile(path);
  Expected<std::string> code = kept ? Expected<std::string>(std::move(*kept)) : make();
  if (code && options.store)
    options.store->keep(key, *code);
  if (code && !kept && !path.empty())
    writeCacheFile(path, *code);
  return code;
}

void CodeCache::prune() const {
  if (options.cacheDir.empty())
    return;
  CachePruningPolicy policy;
  policy.MaxSizeBytes = kMaxBytes;
  pruneCache(options.cacheDir, policy);
}

} // namespace hewn::codegen
