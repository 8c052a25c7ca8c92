// SPDX-License-Identifier: Apache-2.0
#include "lib/Codegen/Emit/Weights.h"
#include "hewn/runtime.h"
#include "lib/Support/WeightStore.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SHA1.h"
#include "llvm/Support/xxhash.h"
#include <cstring>

using namespace llvm;

namespace hewn::codegen {

uint64_t Weights::noteRead(uint64_t offset, uint64_t bytes) {
  if (read.size() <= reader)
    read.resize(reader + 1);
  read[reader].try_emplace(offset, bytes);
  return offset;
}

uint64_t Weights::bytesOf(size_t number) const {
  uint64_t bytes = 0;
  if (number < read.size())
    for (auto &[offset, own] : read[number])
      bytes += alignTo(own, kAlignment);
  return bytes;
}

uint64_t Weights::add(ArrayRef<char> bytes, const WeightStore *table) {
  // The programs of several variants add the same constants. Look constants up by the address of
  // their bytes first, because hashing the bytes again would dominate the compile time.
  auto [known, isNew] = byAddress.try_emplace({bytes.data(), bytes.size()}, total);
  if (!isNew)
    return noteRead(known->second, bytes.size());
  uint64_t hash = xxh3_64bits(ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  if (table)
    table->letGo(bytes);
  // Shift the hash, because the map reserves the two largest keys for its own use.
  std::vector<size_t> &same = byHash[hash >> 1];
  for (size_t i : same)
    if (blobs[i].bytes == bytes)
      return noteRead(known->second = blobs[i].offset, bytes.size());
  same.push_back(blobs.size());
  blobs.push_back({bytes, total, hash, table});
  total = alignTo(total + bytes.size(), kAlignment);
  return noteRead(blobs.back().offset, bytes.size());
}

uint64_t Weights::add(std::string bytes) {
  kept.push_back(std::move(bytes));
  return add(ArrayRef<char>(kept.back().data(), kept.back().size()));
}

std::string Weights::digest() const {
  SHA1 hash;
  for (const Blob &blob : blobs) {
    uint64_t record[] = {blob.offset, blob.bytes.size(), blob.hash};
    hash.update(ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(record), sizeof(record)));
  }
  return toHex(hash.final(), /*LowerCase=*/true);
}

void Weights::write(raw_ostream &os) const {
  for (const Blob &blob : blobs) {
    os.write(blob.bytes.data(), blob.bytes.size());
    os.write_zeros(unsigned(alignTo(blob.bytes.size(), kAlignment) - blob.bytes.size()));
    if (blob.table)
      blob.table->letGo(blob.bytes);
  }
}

namespace {

/// A stream that forwards bytes to another stream and computes their checksum for the file's
/// header.
class ChecksumStream : public raw_ostream {
public:
  explicit ChecksumStream(raw_ostream &to) : to(to) { block.reserve(HEWN_CHECKSUM_BLOCK); }
  ~ChecksumStream() override { flush(); }
  /// Returns the checksum of the bytes written. Valid after `flush`.
  uint64_t sum() const { return block.empty() ? folded : HEWN_CHECKSUM_FOLD(folded, xxHash64(StringRef(block))); }

private:
  void write_impl(const char *data, size_t size) override {
    to.write(data, size);
    written += size;
    while (size > 0) {
      size_t part = std::min<size_t>(size, HEWN_CHECKSUM_BLOCK - block.size());
      block.append(data, part);
      data += part;
      size -= part;
      if (block.size() == HEWN_CHECKSUM_BLOCK) {
        folded = HEWN_CHECKSUM_FOLD(folded, xxHash64(StringRef(block)));
        block.clear();
      }
    }
  }
  uint64_t current_pos() const override { return written; }

  raw_ostream &to;
  std::string block;
  uint64_t folded = 0, written = 0;
};

} // namespace

void Weights::writeFile(raw_pwrite_stream &os) const {
  hewn_weights_header header = {};
  std::memcpy(header.magic, "HEWNW", sizeof(header.magic));
  header.version = HEWN_WEIGHTS_VERSION;
  header.data_bytes = total;
  std::string text = digest();
  std::memcpy(header.digest, text.data(), std::min(text.size(), sizeof(header.digest)));
  os.write(reinterpret_cast<const char *>(&header), sizeof(header));
  ChecksumStream data(os);
  write(data);
  data.flush();
  header.checksum = data.sum();
  os.pwrite(reinterpret_cast<const char *>(&header), sizeof(header), /*Offset=*/0);
}

} // namespace hewn::codegen
