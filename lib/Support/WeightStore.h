// SPDX-License-Identifier: Apache-2.0
//
// Storage of constant bytes. The IR only names them (`#graph.weight<"key", offset : bytes>`). A
// compile has one store, which maps keys to parts of a mapped file or to buffers. Bytes are
// little-endian, as ONNX stores them: one byte per bool, two 4-bit integers per byte.
//
// The store only grows, and bytes do not change once they have a key. All functions may be called
// by several threads at once, except those that importers call (`addNamed`, `add` with an owner)
// and `mappedFiles`. Keys do not depend on the order in which threads add bytes.
#ifndef HEWN_LIB_SUPPORT_WEIGHTSTORE_H
#define HEWN_LIB_SUPPORT_WEIGHTSTORE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <tuple>
#include <vector>

namespace hewn {

class WeightStore {
public:
  WeightStore() = default;
  WeightStore(const WeightStore &) = delete;
  WeightStore &operator=(const WeightStore &) = delete;

  /// Adds imported bytes under the key `wanted`, or `wanted` with a number appended if other bytes
  /// have that key. Returns the key. The store holds a reference to `owner`, which owns the bytes.
  std::string add(llvm::StringRef wanted, llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner);
  /// Adds imported bytes, which the store owns, under the key `wanted`, or `wanted` with a number
  /// appended if other bytes have that key. Equal bytes get the same key. Returns the key.
  std::string addNamed(llvm::StringRef wanted, std::vector<char> bytes);
  /// Adds bytes under exactly this key. The store holds a reference to `owner`, which owns the
  /// bytes. Returns false if the key has other bytes.
  bool addUnder(llvm::StringRef key, llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner);
  /// Adds bytes under the key `base` with a hash of the bytes appended. Equal bytes get the same
  /// key. Returns the key.
  std::string add(llvm::StringRef base, std::vector<char> bytes);

  /// Returns the key of bytes that are derived from other constants, such as packed weights: `base`
  /// with a hash of `recipe` appended. `recipe` must contain everything that the bytes depend on.
  /// The first call with a recipe computes the bytes; calls by other threads wait for it. `compute`
  /// must not wait for other threads.
  std::string derive(llvm::StringRef base, llvm::StringRef recipe, llvm::function_ref<std::vector<char>()> compute);
  /// As `derive`, but returns nullopt, without waiting, if another thread computes the bytes. The
  /// caller can derive others in the meantime.
  std::optional<std::string> tryDerive(llvm::StringRef base, llvm::StringRef recipe,
                                       llvm::function_ref<std::vector<char>()> compute);

  /// Registers a key without bytes and returns it, for compiles that only analyze a model.
  /// Constants that are derived from such a constant get keys without bytes, too.
  std::string name(llvm::StringRef wanted);
  bool isNameOnly(llvm::StringRef key) const;

  /// Registers a mapped file that contains weights, so that `releasePages` releases its pages.
  void noteMapping(std::shared_ptr<const llvm::MemoryBuffer> mapping) {
    std::unique_lock lock(mutex);
    mappings.push_back(std::move(mapping));
  }
  llvm::ArrayRef<std::shared_ptr<const llvm::MemoryBuffer>> mappedFiles() const { return mappings; }
  /// Releases the memory pages of all mapped weight files, since pages that were read count as
  /// memory of the process. The operating system reads them again on demand. Called after a stage
  /// that reads weights.
  void releasePages() const;

  /// Returns the bytes of a weight. Returns an empty array if the key is unknown or the range is
  /// out of bounds, which is possible for IR that was parsed from text.
  llvm::ArrayRef<char> bytes(llvm::StringRef key, int64_t offset, int64_t size) const;
  /// Returns all bytes of a key, or nullopt if the store does not have them.
  std::optional<llvm::ArrayRef<char>> find(llvm::StringRef key) const;
  /// Returns the bytes of a `#graph.weight`. It is a template because this library must not depend
  /// on dialects.
  template <typename WeightAttr> llvm::ArrayRef<char> bytes(WeightAttr weight) const {
    return bytes(weight.getKey(), weight.getOffset(), weight.getBytes());
  }

  /// Releases the memory pages that contain `bytes`, a weight or a part of one, if they belong to a
  /// mapped file. The operating system reads them again on demand.
  void letGo(llvm::ArrayRef<char> bytes) const;

  /// Frees the bytes of a weight that will not be read again. Its key stays reserved.
  void drop(llvm::StringRef key);

  /// Returns a hash of the bytes of a weight, independent of the key and of the host.
  template <typename WeightAttr> std::string contentHash(WeightAttr weight) const { return contentHash(bytes(weight)); }
  static std::string contentHash(llvm::ArrayRef<char> bytes);

private:
  struct Entry {
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
    /// True if the store owns the bytes of this entry.
    bool isOwn = false;
    bool isNameOnly = false;
  };
  /// Returns the key `wanted`, or `wanted` with the lowest number appended for which no key exists.
  std::string firstFree(llvm::StringRef wanted) const;
  mutable std::shared_mutex mutex; // guards the members below
  llvm::StringMap<Entry> entries;
  /// Maps the requested key, the address and the size of imported bytes to the key that they got.
  std::map<std::tuple<std::string, const char *, size_t>, std::string> imported;
  /// Bytes that are derived by a recipe. A thread that needs them waits for `once`.
  struct Derived {
    std::atomic<bool> isStarted = false, isDone = false;
    std::once_flag once;
    std::string key;
  };
  Derived &findOrAdd(llvm::StringRef recipe);
  llvm::StringMap<std::unique_ptr<Derived>> recipes;
  std::vector<std::shared_ptr<const llvm::MemoryBuffer>> mappings;
};

} // namespace hewn

#endif
