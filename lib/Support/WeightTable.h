// SPDX-License-Identifier: Apache-2.0
//
// Where constant bytes lie. The IR only names them (`#graph.weight<"key", offset : bytes>`); a compile has one table
// that maps keys to a part of a mapped file or to a buffer. Bytes are little-endian, as ONNX stores them: one byte a
// bool, two 4-bit integers a byte.
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

  /// Enters bytes under `wanted`, or under `wanted` with a number behind it where other bytes have that key; returns the key.
  /// `owner` is kept as long as the table and keeps the bytes.
  std::string add(llvm::StringRef wanted, llvm::ArrayRef<char> bytes, std::shared_ptr<const void> owner);
  /// The same for bytes that the table takes over.
  std::string add(llvm::StringRef wanted, std::vector<char> bytes);

  /// A key of bytes that are nowhere, for those who ask what a model would be and never run it: what is made of them has a name as well.
  std::string name(llvm::StringRef wanted);
  bool isNameOnly(llvm::StringRef key) const;

  /// The key of bytes that were made of others, by a description of all that they depend on; empty until it is set. Whoever
  /// makes the same for another machine finds them here.
  std::string &derived(const std::string &description) { return derivedKeys[description]; }

  /// The key of a matrix with rows and columns exchanged; empty until somebody has made it.
  template <typename WeightAttr> std::string &transposed(WeightAttr weight) {
    return derived(
        ("transposed " + weight.getKey() + " " + llvm::Twine(weight.getOffset()) + " " + llvm::Twine(weight.getBytes()))
            .str());
  }

  /// Tells of a mapped file that bytes lie in, for `releasePages`.
  void noteMapping(std::shared_ptr<const llvm::MemoryBuffer> mapping) { mappings.push_back(std::move(mapping)); }
  llvm::ArrayRef<std::shared_ptr<const llvm::MemoryBuffer>> mappedFiles() const { return mappings; }
  /// Gives the pages of mapped files back to the system, which reads them again when they are needed. To be called
  /// after a stage has read weights: pages that were read count as memory of the process.
  void releasePages() const;

  /// The bytes of a weight; empty where the table has no such key or the range is outside of it: text that was parsed
  /// names weights that nobody has entered.
  llvm::ArrayRef<char> bytes(llvm::StringRef key, int64_t offset, int64_t size) const;
  /// The same for `#graph.weight` (a template, since this room knows no dialect).
  template <typename WeightAttr> llvm::ArrayRef<char> bytes(WeightAttr weight) const {
    return bytes(weight.getKey(), weight.getOffset(), weight.getBytes());
  }

  /// Says that these bytes, of a weight or made of one, are not read soon: pages of mapped files then don't count as memory of
  /// the process until they are. The system keeps the file.
  void letGo(llvm::ArrayRef<char> bytes) const;

  /// Gives up the bytes of a key, which stays taken: what was made of them is all that is read from now on.
  void drop(llvm::StringRef key);

  /// A hash of the content, the same on every machine: equal weights have equal hashes whatever their keys.
  template <typename WeightAttr> std::string contentHash(WeightAttr weight) const { return contentHash(bytes(weight)); }
  static std::string contentHash(llvm::ArrayRef<char> bytes);

private:
  /// `wanted`, or it with the first number behind it that no key has.
  std::string firstFree(llvm::StringRef wanted) const;
  struct Entry {
    llvm::ArrayRef<char> bytes;
    std::shared_ptr<const void> owner;
    /// Whether the table took the bytes over: memory that nobody else knows.
    bool isOwn = false;
    bool isNameOnly = false;
  };
  llvm::StringMap<Entry> entries;
  /// The key of bytes, by the name that was wanted for them.
  std::map<std::tuple<std::string, const char *, size_t>, std::string> keys;
  llvm::StringMap<std::string> derivedKeys;
  std::vector<std::shared_ptr<const llvm::MemoryBuffer>> mappings;
};

} // namespace hewn

#endif
