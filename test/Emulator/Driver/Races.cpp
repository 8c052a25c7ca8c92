// SPDX-License-Identifier: Apache-2.0
#include "test/Emulator/Driver/Races.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace emulator {

namespace {

/// The time that an access record gets for a write by a pending asynchronous copy.
constexpr Time kNotYet = std::numeric_limits<Time>::max();

std::string nameOf(int64_t thread, int64_t block) {
  return "thread " + std::to_string(thread) + " of block " + std::to_string(block);
}

} // namespace

TouchedMemory::Page &TouchedMemory::fine(uint64_t from, uint64_t stop) {
  Page &page = pages[from / kPage];
  uint64_t fits = (from | stop) & -(from | stop);
  if (fits < page.unit) {
    std::vector<Touched> finer;
    for (const Touched &touched : page.units)
      finer.insert(finer.end(), page.unit / fits, touched);
    page.units = std::move(finer);
    page.unit = fits;
  }
  return page;
}

BlockRaces::Turns &BlockRaces::turns(uint64_t mbarrier) {
  return mbarriers.try_emplace(mbarrier, Turns{mbarriers.size(), 0, {}, {}}).first->second;
}

bool Races::isShared(uint64_t at) const {
  return std::any_of(shared->begin(), shared->end(), [&](const SharedMemory &memory) {
    auto start = reinterpret_cast<uint64_t>(memory.address);
    return at >= start && at < start + memory.bytes;
  });
}

std::string Races::place(uint64_t at) const {
  for (const SharedMemory &memory : *shared) {
    auto start = reinterpret_cast<uint64_t>(memory.address);
    if (at >= start && at < start + memory.bytes)
      return ", byte " + std::to_string(at - start) + " of shared memory";
  }
  return ", of global memory";
}

bool Races::sees(const BlockRaces &block, int64_t thread, const Touched &touched, By by) {
  if (touched.writer == Touched::Nobody)
    return true;
  const View &view = block.order.view(thread);
  if (touched.writer == Touched::Fetched)
    return view.fetched.of(touched.mbarrier) >= touched.time;
  if (touched.time == kNotYet)
    return false;
  const BlockView *known = touched.block == block.order.block ? &view.own : view.ofOther(touched.block);
  auto writer = size_t(touched.writer);
  if (by == By::Async)
    return known && known->shown.of(writer) >= touched.time;
  bool isOwn = known == &view.own && touched.writer == thread;
  return isOwn || (known && known->seen.of(writer) >= touched.time);
}

bool Races::comesAfter(const BlockRaces &block, int64_t thread, const Touched::Reader &reader) {
  const View &view = block.order.view(thread);
  bool isHere = reader.block == block.order.block;
  const BlockView *known = isHere ? &view.own : view.ofOther(reader.block);
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    size_t other = size_t(reader.warp) * kWarp + lane;
    if ((reader.lanes >> lane & 1) == 0 || (isHere && int64_t(other) == thread))
      continue;
    if (!known || known->passed.of(other) < reader.time)
      return false;
  }
  return true;
}

std::string Races::read(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, By by) {
  std::string problem;
  auto warp = uint32_t(thread / kWarp), lane = uint32_t(1) << (thread % kWarp);
  Time now = block.order.now(thread);
  memoryOf(block, at).overUnits(at, bytes, [&](Touched &touched) {
    if (problem.empty() && !sees(block, thread, touched, by)) {
      bool isFetched = touched.writer == Touched::Fetched;
      problem = "race: " + nameOf(thread, block.order.block) + " reads bytes that " +
                (isFetched                 ? "a TMA load writes"
                 : touched.time == kNotYet ? nameOf(touched.writer, touched.block) + " copies"
                                           : nameOf(touched.writer, touched.block) + " writes") +
                place(at);
    }
    for (Touched::Reader &reader : touched.readers)
      if (reader.block == block.order.block && reader.warp == warp && reader.time == now) {
        reader.lanes |= lane;
        return;
      }
    // If the blocks of a launch do not synchronize, the access record of a unit keeps one reader in
    // another block, which represents all readers in other blocks.
    bool others = false;
    std::erase_if(touched.readers, [&](const Touched::Reader &reader) {
      if (!many && reader.block != block.order.block)
        return std::exchange(others, true);
      return comesAfter(block, thread, reader);
    });
    touched.readers.push_back({block.order.block, warp, lane, now});
  });
  return problem;
}

std::string Races::write(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, const Touched &as, By by,
                         const uint64_t *value) {
  std::string problem;
  bool isThere = value && std::memcmp(value, reinterpret_cast<const char *>(at), bytes) == 0;
  auto tell = [&](const std::string &what) {
    if (problem.empty())
      problem = "race: " + nameOf(thread, block.order.block) + " writes bytes that " + what + place(at);
  };
  memoryOf(block, at).overUnits(at, bytes, [&](Touched &touched) {
    bool isSame =
        isThere && touched.block == as.block && touched.writer >= 0 && touched.writer / kWarp == thread / kWarp;
    if (!isSame && !sees(block, thread, touched, by))
      tell(touched.writer == Touched::Fetched ? "a TMA load writes"
                                              : nameOf(touched.writer, touched.block) + " writes");
    if (touched.reading > 0)
      tell("a warpgroup MMA reads");
    for (const Touched::Reader &reader : touched.readers)
      if (!comesAfter(block, thread, reader))
        tell("warp " + std::to_string(reader.warp) + " of block " + std::to_string(reader.block) + " reads");
    uint32_t reading = touched.reading;
    touched = as;
    touched.reading = reading;
  });
  return problem;
}

std::string Races::access(BlockRaces &block, int64_t thread, uint64_t at, uint64_t bytes, bool writes,
                          const uint64_t *value) {
  if (!writes)
    return read(block, thread, at, bytes);
  Touched as;
  as.writer = int32_t(thread);
  as.block = block.order.block;
  as.time = block.order.now(thread);
  return write(block, thread, at, bytes, as, By::Thread, value);
}

std::string Races::copy(BlockRaces &block, int64_t thread, uint64_t to, uint64_t from, uint64_t bytes, uint64_t present,
                        int64_t group) {
  Touched as;
  as.writer = int32_t(thread);
  as.block = block.order.block;
  as.time = kNotYet;
  block.copies[size_t(thread)].push_back({{to, bytes}, {from, present}, group});
  std::string problem = present > 0 ? read(block, thread, from, present) : "";
  std::string other = write(block, thread, to, bytes, as);
  return problem.empty() ? other : problem;
}

std::string Races::copied(BlockRaces &block, int64_t thread, int64_t groups) {
  std::string problem;
  std::erase_if(block.copies[size_t(thread)], [&](const BlockRaces::Copy &copy) {
    if (copy.group >= groups)
      return false;
    // the pending copy may read its source as late as at this wait
    if (copy.from.bytes > 0 && problem.empty())
      problem = read(block, thread, copy.from.from, copy.from.bytes);
    memoryOf(block, copy.to.from).overUnits(copy.to.from, copy.to.bytes, [&](Touched &touched) {
      if (touched.writer == thread && touched.time == kNotYet)
        touched.time = block.order.now(thread);
    });
    return true;
  });
  return problem;
}

std::string Races::fetch(BlockRaces &block, int64_t thread, uint64_t to, uint64_t bytes, uint64_t mbarrier) {
  const BlockRaces::Turns &turns = block.turns(mbarrier);
  Touched as;
  as.writer = Touched::Fetched;
  as.mbarrier = uint32_t(turns.number);
  as.block = block.order.block;
  as.time = turns.ended + 1;
  return write(block, thread, to, bytes, as, By::Async);
}

std::string Races::product(BlockRaces &block, int64_t warp, const std::vector<uint64_t> &lines, int64_t set) {
  constexpr uint64_t bytes = 16;
  std::string problem;
  BlockRaces::Product product{{}, set};
  for (uint64_t line : lines) {
    if (std::string one = read(block, warp * kWarp, line, bytes, By::Async); !one.empty() && problem.empty())
      problem = one;
    memoryOf(block, line).overUnits(line, bytes, [](Touched &touched) { ++touched.reading; });
    product.regions.push_back({line, bytes});
  }
  block.products[warp].push_back(std::move(product));
  return problem;
}

void Races::multiplied(BlockRaces &block, int64_t warp, int64_t sets) {
  std::erase_if(block.products[warp], [&](const BlockRaces::Product &product) {
    if (product.set >= sets)
      return false;
    for (const BlockRaces::Region &region : product.regions)
      memoryOf(block, region.from).overUnits(region.from, region.bytes, [&](Touched &touched) {
        --touched.reading;
        // Record a read by each lane at the current time.
        for (int64_t lane = 0; lane < kWarp; ++lane) {
          Time now = block.order.now(warp * kWarp + lane);
          Touched::Reader reader{block.order.block, uint32_t(warp), uint32_t(1) << lane, now};
          if (!touched.readers.empty() && touched.readers.back().warp == reader.warp &&
              touched.readers.back().time == now && touched.readers.back().block == reader.block)
            touched.readers.back().lanes |= reader.lanes;
          else
            touched.readers.push_back(reader);
        }
      });
    return true;
  });
}

void Races::arrive(BlockRaces &block, int64_t thread, uint64_t mbarrier) {
  block.order.release(thread, block.turns(mbarrier).arrived);
}

void Races::turn(BlockRaces &block, uint64_t mbarrier) {
  BlockRaces::Turns &turns = block.turns(mbarrier);
  turns.before = std::exchange(turns.arrived, {});
  ++turns.ended;
}

void Races::pass(BlockRaces &block, int64_t thread, uint64_t mbarrier) {
  const BlockRaces::Turns &turns = block.turns(mbarrier);
  block.order.acquire(thread, turns.before);
  block.order.hasFetched(thread, turns.number, turns.ended);
}

void Races::release(BlockRaces &block, int64_t thread, uint64_t counter) {
  block.order.releaseToAll(thread, counters[counter]);
}

void Races::acquire(BlockRaces &block, int64_t thread, uint64_t counter) {
  block.order.acquire(thread, counters[counter]);
}

} // namespace emulator
