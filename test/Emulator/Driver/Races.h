// SPDX-License-Identifier: Apache-2.0
//
// Finds accesses of the same bytes, one of them a write, that nothing puts into an order: as compute-sanitizer's racecheck does, of
// global memory as well, and whatever order threads have run in here.
//
// HEWN_EMULATOR_RACES turns it on. Copies on their way write until they are waited for, products of groups read until then, and what is
// fetched is there for those who have waited at its mbarrier. Products of groups and fetched boxes see what was written only behind a
// fence. Everything has happened before a launch, and is over when it ends.
#ifndef HEWN_TEST_EMULATOR_DRIVER_RACES_H
#define HEWN_TEST_EMULATOR_DRIVER_RACES_H

#include "test/Emulator/Driver/Group.h"
#include "test/Emulator/Driver/Order.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace emulator {

/// Who has written a few bytes last, and who has read them since.
struct Touched {
  /// Of writes that are not of a thread's own.
  enum : int32_t { Nobody = -1, Fetched = -2 };
  int32_t writer = Nobody; // a thread
  uint32_t mbarrier = 0;   // of what was fetched
  int64_t block = 0;
  Time time = 0;
  /// Products under way that read here.
  uint32_t reading = 0;
  struct Reader {
    int64_t block;
    uint32_t warp, lanes;
    Time time;
  };
  std::vector<Reader> readers;
};

/// What has been touched of a memory, in units of as few bytes as anybody touches near them.
class TouchedMemory {
public:
  /// `visit` whatever lies in [from, from + bytes).
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

  /// The page of these bytes, whose units begin and end with them.
  Page &fine(uint64_t from, uint64_t stop);
};

/// A block's order and shared memory.
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
  std::vector<std::vector<Copy>> copies; // of each thread
  std::map<uint64_t, Turns> mbarriers;
  std::map<int64_t, std::vector<Product>> products; // of each warp
  friend class Races;

  Turns &turns(uint64_t mbarrier);
};

/// Of a launch.
class Races {
public:
  /// `many`: whether blocks know of each other.
  Races(const std::vector<SharedMemory> &shared, bool many) : shared(&shared), many(many) {}

  // Each returns what is wrong, or nothing.
  // `value`: what is written, where it is a number; threads of a warp may all write the same one.
  std::string access(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, bool writes,
                     const uint64_t *value = nullptr);
  std::string copy(BlockRaces &block, int64_t thread, uint64_t to, uint64_t from, uint64_t bytes, uint64_t present,
                   int64_t group);
  /// Groups of copies below `groups` have been waited for.
  std::string copied(BlockRaces &block, int64_t thread, int64_t groups);
  /// A box was asked for, which comes by the mbarrier's turn of now.
  std::string fetch(BlockRaces &block, int64_t thread, uint64_t to, uint64_t bytes, uint64_t mbarrier);
  /// A warp's product of the next set reads lines of sixteen bytes.
  std::string product(BlockRaces &block, int64_t warp, const std::vector<uint64_t> &lines, int64_t set);
  /// Its sets of products below `sets` have been waited for.
  void multiplied(BlockRaces &block, int64_t warp, int64_t sets);

  // An arrival at a mbarrier; that its turn has ended; and a thread that has waited for it.
  void arrive(BlockRaces &block, int64_t thread, uint64_t mbarrier);
  void turn(BlockRaces &block, uint64_t mbarrier);
  void pass(BlockRaces &block, int64_t thread, uint64_t mbarrier);
  // A counter of all blocks is added to, or looked at.
  void release(BlockRaces &block, int64_t thread, uint64_t counter);
  void acquire(BlockRaces &block, int64_t thread, uint64_t counter);

private:
  const std::vector<SharedMemory> *shared;
  const bool many;
  TouchedMemory global;
  std::map<uint64_t, View> counters;

  enum class By { Thread, Async }; // by what memory is seen
  bool isShared(uint64_t at) const;
  TouchedMemory &memoryOf(BlockRaces &block, uint64_t at) { return isShared(at) ? block.shared : global; }
  std::string place(uint64_t at) const;
  /// Whether what was written there is there for the thread.
  static bool sees(const BlockRaces &block, int64_t thread, const Touched &touched, By by);
  static bool comesAfter(const BlockRaces &block, int64_t thread, const Touched::Reader &reader);
  std::string read(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, By by = By::Thread);
  /// `as`: who it is from then on.
  std::string write(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, const Touched &as,
                    By by = By::Thread, const uint64_t *value = nullptr);
};

} // namespace emulator

#endif
