// SPDX-License-Identifier: Apache-2.0
//
// Collects the constants of an artifact, assigns their offsets, and writes them.
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
class WeightStore;
}

namespace hewn::codegen {

/// The constants of an artifact in the order in which they were added. Equal constants are stored
/// once. Bytes are not copied: the caller keeps them alive until they are written.
class Weights {
public:
  /// Alignment of each constant, and of the weights in memory, in bytes.
  static constexpr uint64_t kAlignment = 64;

  /// Adds a constant and returns its offset, a multiple of 64. If `table` is given, it owns the
  /// bytes, and is notified after each read so that it can release their pages.
  uint64_t add(llvm::ArrayRef<char> bytes, const WeightStore *table = nullptr);
  /// Adds a constant and takes ownership of its bytes. Returns the constant's offset, a multiple of
  /// 64.
  uint64_t add(std::string bytes);

  uint64_t size() const { return total; }
  /// Several programs (readers) may share the weights file. setReader selects the program that
  /// reads the constants added next. bytesOf returns the number of bytes that a program reads.
  void setReader(size_t number) { reader = number; }
  uint64_t bytesOf(size_t number) const;
  /// Returns 40 hex digits that identify the constants' content.
  std::string digest() const;
  /// Writes the constants, which are `size()` bytes, without the header of a weights file.
  void write(llvm::raw_ostream &os) const;
  /// Writes the weights file: the header and the constants.
  void writeFile(llvm::raw_pwrite_stream &os) const;

private:
  struct Blob {
    llvm::ArrayRef<char> bytes;
    uint64_t offset;
    uint64_t hash;
    const WeightStore *table;
  };
  std::vector<Blob> blobs;
  std::deque<std::string> kept;
  llvm::DenseMap<uint64_t, std::vector<size_t>> byHash;
  llvm::DenseMap<std::pair<const char *, size_t>, uint64_t> byAddress;
  uint64_t noteRead(uint64_t offset, uint64_t bytes);

  uint64_t total = 0;
  size_t reader = 0;
  /// For each reader, a map from the offsets of its constants to their sizes in bytes.
  std::vector<llvm::DenseMap<uint64_t, uint64_t>> read;
};

} // namespace hewn::codegen

#endif
