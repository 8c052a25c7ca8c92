// SPDX-License-Identifier: Apache-2.0
#include "lib/Support/WeightStore.h"

#include <sys/mman.h>

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

namespace hewn {

/// Releases the memory pages that lie completely in `bytes`. The pages at its two ends may contain
/// other data and are kept.
static void discardPages(llvm::ArrayRef<char> bytes) {
  constexpr uintptr_t page = 4096;
  uintptr_t begin = (uintptr_t(bytes.begin()) + page - 1) / page * page, end = uintptr_t(bytes.end()) / page * page;
  if (begin < end)
    (void)madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
}

std::string WeightStore::add(llvm::StringRef wanted, llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner) {
  std::unique_lock lock(mutex);
  // The bytes may be in the store already: each case of a model imports the same weights again, and
  // gets the same key.
  std::string &known = imported[{wanted.str(), bytes.data(), bytes.size()}];
  if (auto there = entries.find(known);
      !known.empty() && there != entries.end() && there->second.bytes.data() == bytes.data())
    return known;
  std::string key = firstFree(wanted);
  entries.try_emplace(key, Entry{bytes, std::move(owner), /*isOwn=*/false});
  known = key;
  return key;
}

std::string WeightStore::firstFree(llvm::StringRef wanted) const {
  auto numbered = [&](uint64_t n) { return n == 1 ? wanted.str() : (wanted + "_" + llvm::Twine(n)).str(); };
  // Numbers that are appended to keys are assigned in ascending order, so a binary search between a
  // taken and a free number finds the first free one.
  uint64_t taken = 0, open = 1;
  while (entries.contains(numbered(open))) {
    taken = open;
    open *= 2;
  }
  while (open - taken > 1) {
    uint64_t middle = taken + (open - taken) / 2;
    (entries.contains(numbered(middle)) ? taken : open) = middle;
  }
  return numbered(open);
}

std::string WeightStore::name(llvm::StringRef wanted) {
  std::unique_lock lock(mutex);
  std::string key = firstFree(wanted);
  entries[key].isNameOnly = true;
  return key;
}

bool WeightStore::isNameOnly(llvm::StringRef key) const {
  std::shared_lock lock(mutex);
  auto found = entries.find(key);
  return found != entries.end() && found->second.isNameOnly;
}

std::string WeightStore::addNamed(llvm::StringRef wanted, std::vector<char> bytes) {
  std::unique_lock lock(mutex);
  auto there = entries.find(wanted);
  if (there != entries.end() && there->second.bytes == llvm::ArrayRef<char>(bytes))
    return wanted.str();
  std::string free = there == entries.end() ? wanted.str() : firstFree(wanted);
  auto owned = std::make_shared<const std::vector<char>>(std::move(bytes));
  entries.try_emplace(free, Entry{llvm::ArrayRef<char>(*owned), owned, /*isOwn=*/true});
  return free;
}

bool WeightStore::addUnder(llvm::StringRef key, llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner) {
  std::unique_lock lock(mutex);
  auto [there, isNew] = entries.try_emplace(key, Entry{bytes, std::move(owner), /*isOwn=*/false});
  return isNew || (!there->second.isNameOnly && there->second.bytes == bytes);
}

/// Returns the hash that is appended to the key of bytes, as hexadecimal digits.
static std::string shortHash(llvm::ArrayRef<char> bytes) { return WeightStore::contentHash(bytes).substr(0, 16); }

std::string WeightStore::add(llvm::StringRef base, std::vector<char> bytes) {
  std::string key = base.str() + "." + shortHash(bytes);
  return addNamed(key, std::move(bytes));
}

WeightStore::Derived &WeightStore::findOrAdd(llvm::StringRef recipe) {
  std::unique_lock lock(mutex);
  std::unique_ptr<Derived> &place = recipes[recipe];
  if (!place)
    place = std::make_unique<Derived>();
  return *place;
}

std::string WeightStore::derive(llvm::StringRef base, llvm::StringRef recipe,
                                llvm::function_ref<std::vector<char>()> compute) {
  Derived &derived = findOrAdd(recipe);
  derived.isStarted = true;
  std::call_once(derived.once, [&] {
    derived.key = addNamed(base.str() + "." + shortHash(llvm::ArrayRef(recipe.data(), recipe.size())), compute());
    derived.isDone = true;
  });
  return derived.key;
}

std::optional<std::string> WeightStore::tryDerive(llvm::StringRef base, llvm::StringRef recipe,
                                                  llvm::function_ref<std::vector<char>()> compute) {
  Derived &derived = findOrAdd(recipe);
  if (derived.isStarted.exchange(true) && !derived.isDone)
    return std::nullopt;
  return derive(base, recipe, compute);
}

std::optional<llvm::ArrayRef<char>> WeightStore::find(llvm::StringRef key) const {
  std::shared_lock lock(mutex);
  auto found = entries.find(key);
  return found == entries.end() || found->second.isNameOnly ? std::nullopt : std::optional(found->second.bytes);
}

llvm::ArrayRef<char> WeightStore::bytes(llvm::StringRef key, int64_t offset, int64_t size) const {
  std::shared_lock lock(mutex);
  auto found = entries.find(key);
  if (found == entries.end() || offset < 0 || size < 0)
    return {};
  llvm::ArrayRef<char> all = found->second.bytes;
  if (uint64_t(offset) > all.size() || uint64_t(size) > all.size() - uint64_t(offset))
    return {};
  return all.slice(offset, size);
}

void WeightStore::drop(llvm::StringRef key) {
  std::unique_lock lock(mutex);
  auto found = entries.find(key);
  if (found == entries.end())
    return;
  // Releases the pages of the freed weight, because the allocator would keep freed memory for this
  // thread. Bytes that the store does not own are left alone: the caller may use them.
  if (found->second.isOwn && found->second.owner.use_count() == 1)
    discardPages(found->second.bytes);
  found->second = Entry();
}

void WeightStore::releasePages() const {
  for (const auto &mapping : mappings)
    const_cast<llvm::MemoryBuffer &>(*mapping).dontNeedIfMmap();
}

std::string WeightStore::contentHash(llvm::ArrayRef<char> bytes) {
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return llvm::utohexstr(hash.high64, true, 16) + llvm::utohexstr(hash.low64, true, 16);
}

void WeightStore::letGo(llvm::ArrayRef<char> bytes) const {
  // Only pages of mapped weight files are released: anonymous memory would lose its content.
  std::shared_lock lock(mutex);
  if (llvm::none_of(mappings, [&](const auto &mapping) {
        return mapping->getBufferStart() <= bytes.begin() && bytes.end() <= mapping->getBufferEnd() &&
               mapping->getBufferKind() == llvm::MemoryBuffer::MemoryBuffer_MMap;
      }))
    return;
  discardPages(bytes);
}

} // namespace hewn
