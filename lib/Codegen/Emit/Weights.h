// SPDX-License-Identifier: Apache-2.0
//
// The constants of an artifact: where each lies among the weights, and how they are written, as a file that is mapped
// when the model runs or as a part of the object.
#ifndef HEWN_LIB_CODEGEN_EMIT_WEIGHTS_H
#define HEWN_LIB_CODEGEN_EMIT_WEIGHTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>
#include <string>
#include <vector>

namespace hewn {
class WeightTable;
}

namespace hewn::codegen {

/// Constants in the order in which they were added; equal bytes lie there once. Nothing is copied: whoever adds bytes
/// keeps them until they are written.
class Weights {
public:
  /// Returns the offset, a multiple of 64. `table` has the bytes, and is told whenever they were read; null: somebody else has.
  uint64_t add(llvm::ArrayRef<char> bytes, const WeightTable *table = nullptr);
  /// The same for bytes that are kept here.
  uint64_t add(std::string bytes);

  uint64_t size() const { return total; }
  /// What is added from now on is read by this one of several who share the file; and how much each reads.
  void setReader(size_t number) { reader = number; }
  uint64_t bytesOf(size_t number) const;
  /// 40 hex digits of all of the content.
  std::string digest() const;
  /// The bytes alone, as `size` says.
  void write(llvm::raw_ostream &os) const;
  /// The weights file: header and bytes.
  void writeFile(llvm::raw_pwrite_stream &os) const;
  /// A relocatable object of one read-only section that defines `symbol`, hidden. Written as a stream: compiling the
  /// bytes as code would take several times their size. It is linked with objects for `triple`.
  llvm::Error writeObject(llvm::StringRef path, llvm::StringRef symbol, llvm::StringRef triple) const;

private:
  struct Blob {
    llvm::ArrayRef<char> bytes;
    uint64_t offset;
    uint64_t hash;
    const WeightTable *table;
  };
  std::vector<Blob> blobs;
  std::deque<std::string> kept;
  llvm::DenseMap<uint64_t, std::vector<size_t>> byHash;
  llvm::DenseMap<std::pair<const char *, size_t>, uint64_t> byAddress;
  uint64_t noteRead(uint64_t offset, uint64_t bytes);

  uint64_t total = 0;
  size_t reader = 0;
  /// By reader, the bytes at each offset.
  std::vector<llvm::DenseMap<uint64_t, uint64_t>> read;
};

} // namespace hewn::codegen

#endif
