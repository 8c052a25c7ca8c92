// SPDX-License-Identifier: Apache-2.0
//
// Detects data races: two accesses of the same bytes, at least one of them a write, without a
// happens-before relation. It resembles compute-sanitizer's racecheck, but also covers global
// memory, and does not depend on the order in which the emulator runs the threads.
//
// Race detection is on if the environment variable HEWN_EMULATOR_RACES is set. An asynchronous copy
// writes until its thread waits for it. A warpgroup MMA reads until its warp waits for it. A TMA
// load is visible to threads that have waited at its mbarrier. Warpgroup MMAs and TMA loads see
// earlier writes only after a proxy fence. A kernel launch orders everything before and after it.
#ifndef HEWN_TEST_EMULATOR_DRIVER_RACES_H
#define HEWN_TEST_EMULATOR_DRIVER_RACES_H

#include "test/Emulator/Driver/Group.h"
#include "test/Emulator/Driver/Order.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace emulator {

/// Access record of a few bytes: the last writer, and the readers since that write.
struct Touched {
  /// Values of `writer` that are not a thread's index.
  enum : int32_t { Nobody = -1, Fetched = -2 };
  int32_t writer = Nobody; // a thread's index
  uint32_t mbarrier = 0;   // if a TMA load wrote the bytes
  int64_t block = 0;
  Time time = 0;
  /// Number of pending warpgroup MMAs that read the bytes of this record.
  uint32_t reading = 0;
  struct Reader {
    int64_t block;
    uint32_t warp, lanes;
    Time time;
  };
  std::vector<Reader> readers;
};

/// Access records of a memory. Each page is split into units of equal size, as small as the
/// smallest access to the page.
class TouchedMemory {
public:
  /// Calls `visit` for the access record of each unit of the addresses [from, from + bytes).
  template <typename Visit> void overUnits(uint64_t from, uint64_t bytes, Visit visit) {
    for (uint64_t end = from + bytes; from < end;) {
      uint64_t stop = std::min(end, (from / kPage + 1) * kPage);
      Page &page = fine(from, stop);
      for (uint64_t i = from % kPage / page.unit; from < stop; ++i, from += page.unit)
        visit(page.units[i]);
    }
  }

private:
  static constexpr uint64_t kPage = 256;
  struct Page {
    uint64_t unit = 16;
    std::vector<Touched> units = std::vector<Touched>(kPage / 16);
  };
  std::unordered_map<uint64_t, Page> pages;

  /// Returns the page of these bytes. Splits its units, if necessary, so that the bytes begin and
  /// end at units.
  Page &fine(uint64_t from, uint64_t stop);
};

/// Vector clocks and shared-memory records of a block.
class BlockRaces {
public:
  BlockRaces(int64_t block, int64_t threads) : order(block, threads), copies(size_t(threads)) {}
  BlockOrder order;

private:
  struct Region {
    uint64_t from, bytes;
    bool operator==(const Region &) const = default;
  };
  struct Copy {
    Region to, from;
    int64_t group;
  };
  struct Turns {
    size_t number;
    Time ended = 0;
    View arrived, before;
  };
  struct Product {
    std::vector<Region> regions;
    int64_t set;
  };
  TouchedMemory shared;
  std::vector<std::vector<Copy>> copies;
  std::map<uint64_t, Turns> mbarriers;
  std::map<int64_t, std::vector<Product>> products; // pending MMAs of each warp
  friend class Races;

  Turns &turns(uint64_t mbarrier);
};

/// Race detection of a launch.
class Races {
public:
  /// `many`: true if the blocks of the launch synchronize with each other.
  Races(const std::vector<SharedMemory> &shared, bool many) : shared(&shared), many(many) {}

  // The following functions return an error text, or an empty string. `value` contains the stored
  // bits if the access stores a scalar: threads of a warp may all store the same value.
  std::string access(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, bool writes,
                     const uint64_t *value = nullptr);
  std::string copy(BlockRaces &block, int64_t thread, uint64_t to, uint64_t from, uint64_t bytes, uint64_t present,
                   int64_t group);
  /// Records that the thread has waited for its copy groups with numbers below `groups`.
  std::string copied(BlockRaces &block, int64_t thread, int64_t groups);
  /// Records that the thread issued a TMA load that completes in the current phase of the mbarrier.
  std::string fetch(BlockRaces &block, int64_t thread, uint64_t to, uint64_t bytes, uint64_t mbarrier);
  /// Records that the warp issued an MMA of commit group `set` that reads these 16-byte chunks.
  std::string product(BlockRaces &block, int64_t warp, const std::vector<uint64_t> &lines, int64_t set);
  /// Records that the warp has waited for its commit groups with numbers below `sets`.
  void multiplied(BlockRaces &block, int64_t warp, int64_t sets);

  // Record an arrival at an mbarrier, the end of its phase, and that a thread has waited for the
  // phase.
  void arrive(BlockRaces &block, int64_t thread, uint64_t mbarrier);
  void turn(BlockRaces &block, uint64_t mbarrier);
  void pass(BlockRaces &block, int64_t thread, uint64_t mbarrier);
  // Record an addition to a counter in global memory, and a read of it.
  void release(BlockRaces &block, int64_t thread, uint64_t counter);
  void acquire(BlockRaces &block, int64_t thread, uint64_t counter);

private:
  const std::vector<SharedMemory> *shared;
  const bool many;
  TouchedMemory global;
  std::map<uint64_t, View> counters;

  enum class By { Thread, Async }; // proxy of the access
  bool isShared(uint64_t at) const;
  TouchedMemory &memoryOf(BlockRaces &block, uint64_t at) { return isShared(at) ? block.shared : global; }
  std::string place(uint64_t at) const;
  /// Returns true if the recorded write is visible to the thread.
  static bool sees(const BlockRaces &block, int64_t thread, const Touched &touched, By by);
  static bool comesAfter(const BlockRaces &block, int64_t thread, const Touched::Reader &reader);
  std::string read(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, By by = By::Thread);
  /// Records a write to the bytes of an access record. `as` describes the new writer.
  std::string write(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, const Touched &as,
                    By by = By::Thread, const uint64_t *value = nullptr);
};

} // namespace emulator

#endif
