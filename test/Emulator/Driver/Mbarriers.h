// SPDX-License-Identifier: Apache-2.0
//
// Mbarriers of a block, and the TMA loads that complete on them (lib/Codegen/GPU/GpuBuilder.h).
//
// A TMA load completes either at once or as late as possible, that is, when no thread can continue
// without it. From its issue until it completes, its tile in shared memory is filled with NaN.
#ifndef HEWN_TEST_EMULATOR_DRIVER_GATES_H
#define HEWN_TEST_EMULATOR_DRIVER_GATES_H

#include "test/Emulator/Driver/Group.h"

#include <functional>
#include <set>

namespace emulator {

/// Contents of an emulated tensor map, a kernel argument that each launch copies.
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

  // The functions that return a string return an error text, or an empty string on success.
  std::string make(uint64_t mbarrier, int32_t arrivals);
  std::string expect(uint64_t mbarrier, int32_t bytes) { return arrive(mbarrier, false, bytes); }
  /// `published`: true if the thread's warp has executed proxy fences for its earlier writes.
  std::string arrive(uint64_t mbarrier, bool published, int32_t bytes = 0);
  std::string fetch(uint64_t to, const Tensor &tensor, const int32_t *at, uint64_t mbarrier, bool early);
  std::string end() const;
  /// `ready` is the fence after mbarriers are initialized. Threads may use a new mbarrier only
  /// after `ready` and a later barrier of the block (`meet`).
  void ready();
  void meet();
  /// Sets `does` to whether the last phase with that parity has completed. Sets `published` to
  /// whether all arrivals of the last completed phase were published.
  std::string passes(uint64_t mbarrier, int32_t parity, bool &does, bool &published);
  /// A function that is called with the address of an mbarrier when a phase of this mbarrier
  /// completes.
  std::function<void(uint64_t)> turned;
  /// Completes the pending TMA load that was issued last. Returns false if none is pending.
  bool landOne(std::string &problem);
  /// Returns true if a TMA load wrote the 16-byte chunk at the address.
  bool isFetched(uint64_t address) const { return fetched.count(address / kChunk) > 0; }

private:
  static constexpr uint64_t kChunk = 16;
  struct Mbarrier {
    int32_t arrivals, missing;
    int64_t bytes = 0, phases = 0;
    /// True if all arrivals at the mbarrier were published. One flag is for the current phase, the
    /// other one for the previous phase.
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
  /// Indices of the 16-byte chunks of shared memory that TMA loads wrote.
  std::set<uint64_t> fetched;

  Mbarrier *find(uint64_t mbarrier, std::string &problem);
  bool isShared(uint64_t from, uint64_t bytes) const;
  void step(uint64_t address, Mbarrier &mbarrier);
  std::string land(const Fetch &fetch);
};

} // namespace emulator

#endif
