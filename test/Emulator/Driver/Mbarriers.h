// SPDX-License-Identifier: Apache-2.0
//
// Mbarriers of a block, and boxes of tensors that come to its shared memory through them (lib/Codegen/Grid/Grid.h).
//
// A box is fetched as late as it may be, when no thread can go on without it, or at once. From when it is asked for until it has come,
// its place in shared memory holds no numbers.
#ifndef HEWN_TEST_EMULATOR_DRIVER_GATES_H
#define HEWN_TEST_EMULATOR_DRIVER_GATES_H

#include "test/Emulator/Driver/Group.h"

#include <functional>
#include <set>

namespace emulator {

/// What the driver makes of a description of a tensor; a launch copies it.
struct Tensor {
  uint64_t magic, address;
  uint32_t bytes, rank;
  uint64_t extents[3], strides[3];
  uint32_t box[3], rounds;
  static constexpr uint64_t kMagic = 0x7e4507e450;
};
constexpr size_t kTensorBytes = 128;
uint64_t boxBytes(const Tensor &tensor);
static_assert(sizeof(Tensor) <= kTensorBytes);

class Mbarriers {
public:
  explicit Mbarriers(const std::vector<SharedMemory> &shared) : shared(&shared) {}

  // Each returns what is wrong with it, or nothing.
  std::string make(uint64_t mbarrier, int32_t arrivals);
  std::string expect(uint64_t mbarrier, int32_t bytes) { return arrive(mbarrier, false, bytes); }
  /// `published`: whether what was written before is for groups.
  std::string arrive(uint64_t mbarrier, bool published, int32_t bytes = 0);
  std::string fetch(uint64_t to, const Tensor &tensor, const int32_t *at, uint64_t mbarrier, bool early);
  std::string end() const;
  /// What has been made is ready when its thread has said so, and used when all have met after that.
  void ready();
  void meet();
  /// Whether the last phase of that parity has ended; of the last one to end, whether all that arrived had published.
  std::string passes(uint64_t mbarrier, int32_t parity, bool &does, bool &published);
  /// Called when a turn of one has ended, with its address.
  std::function<void(uint64_t)> turned;
  /// The box that was asked for last comes; false: none is on its way.
  bool landOne(std::string &problem);
  /// Whether the line that begins there was fetched.
  bool isFetched(uint64_t address) const { return fetched.count(address / kChunk) > 0; }

private:
  static constexpr uint64_t kChunk = 16;
  struct Mbarrier {
    int32_t arrivals, missing;
    int64_t bytes = 0, phases = 0;
    /// Of those that have arrived in this phase, and in the one before.
    bool published = true, before = false;
    enum { Made, Ready, Used } state = Made;
  };
  struct Fetch {
    uint64_t to, mbarrier;
    Tensor tensor;
    int32_t at[3];
  };
  const std::vector<SharedMemory> *shared;
  std::map<uint64_t, Mbarrier> mbarriers;
  std::vector<Fetch> open;
  /// Numbers of chunks of 16 bytes.
  std::set<uint64_t> fetched;

  Mbarrier *find(uint64_t mbarrier, std::string &problem);
  bool isShared(uint64_t from, uint64_t bytes) const;
  void step(uint64_t address, Mbarrier &mbarrier);
  std::string land(const Fetch &fetch);
};

} // namespace emulator

#endif
