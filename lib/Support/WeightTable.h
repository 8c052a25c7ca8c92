// SPDX-License-Identifier: Apache-2.0
//
// Storage of constant bytes. The IR only names them (`#graph.weight<"key", offset : bytes>`). A
// compile has one table, which maps keys to parts of a mapped file or to buffers. Bytes are
// little-endian, as ONNX stores them: one byte per bool, two 4-bit integers per byte.
#ifndef HEWN_LIB_SUPPORT_WEIGHTTABLE_H
#define HEWN_LIB_SUPPORT_WEIGHTTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace hewn {

class WeightTable {
public:
  WeightTable() = default;
  WeightTable(const WeightTable &) = delete;
  WeightTable &operator=(const WeightTable &) = delete;

  /// Adds constant bytes under the key `wanted`, or `wanted` with a number appended if other bytes
  /// have that key. Returns the key. The table holds a reference to `owner`, which owns the bytes.
  std::string add(llvm::StringRef wanted, llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner);
  /// Adds constant bytes that the table owns. Returns their key.
  std::string add(llvm::StringRef wanted, std::vector<char> bytes);

  /// Registers a key without bytes and returns it, for compiles that only analyze a model.
  /// Constants that are derived from such a constant get keys without bytes, too.
  std::string name(llvm::StringRef wanted);
  bool isNameOnly(llvm::StringRef key) const;

  /// Returns a reference to the key of bytes that are derived from other constants, such as packed
  /// weights. `description` must contain everything that the bytes depend on. The key is empty
  /// until a caller computes the bytes and sets it. Compiles for several targets share derived
  /// bytes this way.
  std::string &derived(const std::string &description) { return derivedKeys[description]; }

  /// Returns a reference to the key of the transpose of the matrix `weight`. The key is empty until
  /// a caller sets it.
  template <typename WeightAttr> std::string &transposed(WeightAttr weight) {
    return derived(
        ("transposed " + weight.getKey() + " " + llvm::Twine(weight.getOffset()) + " " + llvm::Twine(weight.getBytes()))
            .str());
  }

  /// Registers a mapped file that contains weights, so that `releasePages` releases its pages.
  void noteMapping(std::shared_ptr<const llvm::MemoryBuffer> mapping) { mappings.push_back(std::move(mapping)); }
  llvm::ArrayRef<std::shared_ptr<const llvm::MemoryBuffer>> mappedFiles() const { return mappings; }
  /// Releases the memory pages of all mapped weight files, since pages that were read count as
  /// memory of the process. The operating system reads them again on demand. Called after a stage
  /// that reads weights.
  void releasePages() const;

  /// Returns the bytes of a weight. Returns an empty array if the key is unknown or the range is
  /// out of bounds, which is possible for IR that was parsed from text.
  llvm::ArrayRef<char> bytes(llvm::StringRef key, int64_t offset, int64_t size) const;
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
  /// Returns the key `wanted`, or `wanted` with the lowest number appended for which no key exists.
  std::string firstFree(llvm::StringRef wanted) const;
  struct Entry {
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
    /// True if the weight table owns the bytes of this entry.
    bool isOwn = false;
    bool isNameOnly = false;
  };
  llvm::StringMap<Entry> entries;
  /// Maps the requested key, the address and the size of added weight bytes to the key that they
  /// got.
  std::map<std::tuple<std::string, const char *, size_t>, std::string> keys;
  llvm::StringMap<std::string> derivedKeys;
  std::vector<std::shared_ptr<const llvm::MemoryBuffer>> mappings;
};

} // namespace hewn

#endif
