// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Mbarriers.h"

#include <cstring>

namespace emulator {

namespace {

/// Value of the eight bytes of an mbarrier in shared memory. A changed value shows that the kernel
/// has overwritten the mbarrier.
constexpr uint64_t kMbarrierBits = 0x6a7e6a7e6a7e6a7e;

/// Rounds a float32 to TF32 (eleven significant bits), to nearest even.
void roundWord(char *memory) {
  uint32_t word;
  std::memcpy(&word, memory, sizeof(word));
  if ((word & 0x7f800000) != 0x7f800000)
    word += 0xfff + (word >> 13 & 1);
  word &= 0xffffe000;
  std::memcpy(memory, &word, sizeof(word));
}

} // namespace

uint64_t boxBytes(const Tensor &tensor) {
  uint64_t bytes = tensor.bytes;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    bytes *= tensor.box[i];
  return bytes;
}

bool Mbarriers::isShared(uint64_t from, uint64_t bytes) const {
  for (const SharedMemory &memory : *shared) {
    auto start = reinterpret_cast<uint64_t>(memory.address);
    if (from >= start && from + bytes <= start + memory.bytes)
      return true;
  }
  return false;
}

std::string Mbarriers::make(uint64_t mbarrier, int32_t arrivals) {
  if (mbarrier % 8 != 0 || !isShared(mbarrier, 8))
    return "an mbarrier is not 8-byte aligned in shared memory";
  if (arrivals < 1)
    return "an mbarrier is initialized with no arrivals";
  if (mbarriers.count(mbarrier))
    return "an mbarrier is initialized twice";
  mbarriers[mbarrier] = {arrivals, arrivals};
  std::memcpy(reinterpret_cast<char *>(mbarrier), &kMbarrierBits, sizeof(kMbarrierBits));
  return "";
}

void Mbarriers::ready() {
  for (auto &[address, mbarrier] : mbarriers)
    if (mbarrier.state == Mbarrier::Made)
      mbarrier.state = Mbarrier::Ready;
}

void Mbarriers::meet() {
  for (auto &[address, mbarrier] : mbarriers)
    if (mbarrier.state == Mbarrier::Ready)
      mbarrier.state = Mbarrier::Used;
}

Mbarriers::Mbarrier *Mbarriers::find(uint64_t mbarrier, std::string &problem) {
  auto found = mbarriers.find(mbarrier);
  if (found == mbarriers.end())
    problem = "the address is not an mbarrier";
  else if (found->second.state != Mbarrier::Used)
    problem = "an mbarrier is used before its initialization is visible to all threads";
  else if (std::memcmp(reinterpret_cast<char *>(mbarrier), &kMbarrierBits, sizeof(kMbarrierBits)) != 0)
    problem = "an mbarrier was overwritten";
  return problem.empty() ? &found->second : nullptr;
}

void Mbarriers::step(uint64_t address, Mbarrier &mbarrier) {
  if (mbarrier.missing > 0 || mbarrier.bytes != 0)
    return;
  ++mbarrier.phases;
  if (turned)
    turned(address);
  mbarrier.missing = mbarrier.arrivals;
  mbarrier.before = mbarrier.published;
  mbarrier.published = true;
}

std::string Mbarriers::arrive(uint64_t address, bool published, int32_t bytes) {
  std::string problem;
  Mbarrier *mbarrier = find(address, problem);
  if (!mbarrier)
    return problem;
  if (mbarrier->missing == 0)
    return "an mbarrier gets more arrivals than it was initialized for";
  mbarrier->bytes += bytes;
  mbarrier->published &= published;
  --mbarrier->missing;
  step(address, *mbarrier);
  return "";
}

std::string Mbarriers::passes(uint64_t address, int32_t parity, bool &does, bool &published) {
  std::string problem;
  Mbarrier *mbarrier = find(address, problem);
  does = mbarrier && mbarrier->phases % 2 != parity;
  published = mbarrier && mbarrier->before;
  if (mbarrier && parity != 0 && parity != 1)
    return "a phase's parity is neither 0 nor 1";
  return problem;
}

std::string Mbarriers::fetch(uint64_t to, const Tensor &tensor, const int32_t *at, uint64_t mbarrier, bool early) {
  if (tensor.magic != Tensor::kMagic)
    return "the tensor map is invalid";
  uint64_t bytes = boxBytes(tensor);
  if (to % 128 != 0 || !isShared(to, bytes))
    return "the destination of a TMA load is misaligned or outside of shared memory";
  Fetch one{to, mbarrier, tensor, {}};
  for (uint32_t i = 0; i < tensor.rank; ++i)
    one.at[i] = at[i];
  std::memset(reinterpret_cast<char *>(to), 0xff, bytes);
  for (uint64_t chunk = to / kChunk; chunk < (to + bytes) / kChunk; ++chunk)
    fetched.erase(chunk);
  if (early)
    return land(one);
  open.push_back(one);
  return "";
}

std::string Mbarriers::land(const Fetch &fetch) {
  const Tensor &tensor = fetch.tensor;
  std::string problem;
  Mbarrier *mbarrier = find(fetch.mbarrier, problem);
  if (!mbarrier)
    return problem;
  uint64_t line = uint64_t(tensor.box[0]) * tensor.bytes, lines = boxBytes(tensor) / line;
  for (uint64_t i = 0; i < lines; ++i) {
    uint64_t rest = i, from = tensor.address;
    bool inside = true;
    for (uint32_t d = 1; d < tensor.rank; ++d) {
      int64_t place = fetch.at[d] + int64_t(rest % tensor.box[d]);
      rest /= tensor.box[d];
      inside &= place >= 0 && place < int64_t(tensor.extents[d]);
      from += uint64_t(place) * tensor.strides[d];
    }
    for (uint64_t j = 0; j < tensor.box[0]; ++j) {
      int64_t place = fetch.at[0] + int64_t(j);
      uint64_t to = fetch.to + i * line + j * tensor.bytes;
      to ^= (to >> 7 & (line / kChunk - 1)) << 4;
      auto *memory = reinterpret_cast<char *>(to);
      if (inside && place >= 0 && place < int64_t(tensor.extents[0]))
        std::memcpy(memory, reinterpret_cast<const char *>(from + uint64_t(place) * tensor.bytes), tensor.bytes);
      else
        std::memset(memory, 0, tensor.bytes);
      if (tensor.rounds)
        roundWord(memory);
    }
  }
  for (uint64_t chunk = fetch.to / kChunk; chunk < (fetch.to + lines * line) / kChunk; ++chunk)
    fetched.insert(chunk);
  mbarrier->bytes -= int64_t(lines * line);
  step(fetch.mbarrier, *mbarrier);
  return "";
}

bool Mbarriers::landOne(std::string &problem) {
  if (open.empty())
    return false;
  Fetch last = open.back();
  open.pop_back();
  problem = land(last);
  return true;
}

std::string Mbarriers::end() const { return open.empty() ? "" : "a block ends before its TMA loads complete"; }

} // namespace emulator
