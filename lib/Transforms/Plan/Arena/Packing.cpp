// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Arena/Packing.h"

#include "llvm/ADT/STLExtras.h"
#include <array>
#include <map>
#include <numeric>
#include <optional>

using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;

namespace hewn::plan {

namespace {

using Order = std::vector<unsigned>;

int64_t length(const ArenaBlock &block) { return int64_t(block.life.end) - block.life.begin + 1; }

using Key = std::array<double, 2>;

Order orderBy(ArrayRef<ArenaBlock> blocks, llvm::function_ref<Key(unsigned)> key) {
  Order order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::vector<Key> keys;
  for (unsigned i : order)
    keys.push_back(key(i));
  llvm::sort(order, [&](unsigned a, unsigned b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
  return order;
}

double area(const ArenaBlock &block) { return double(block.size) * double(length(block)); }

/// Returns the orders in which greedy packing tries the blocks: by size, by size times lifetime,
/// and by lifetime, each descending.
SmallVector<Order> greedyOrders(ArrayRef<ArenaBlock> blocks) {
  return {orderBy(blocks, [&](unsigned i) { return Key{double(blocks[i].size), 0}; }),
          orderBy(blocks, [&](unsigned i) { return Key{area(blocks[i]), 0}; }),
          orderBy(blocks, [&](unsigned i) { return Key{double(length(blocks[i])), area(blocks[i])}; })};
}

/// Returns the orders in which the branch-and-bound search places the blocks. In each, the blocks
/// that are live at the memory peak come first.
SmallVector<Order> searchOrders(ArrayRef<ArenaBlock> blocks) {
  std::vector<double> most(blocks.size(), 0);
  for (const ArenaBlock &at : blocks) {
    double live = 0;
    for (const ArenaBlock &block : blocks)
      if (block.life.begin <= at.life.begin && at.life.begin <= block.life.end)
        live += double(block.size);
    for (auto [i, block] : llvm::enumerate(blocks))
      if (block.life.begin <= at.life.begin && at.life.begin <= block.life.end)
        most[i] = std::max(most[i], live);
  }
  return {orderBy(blocks, [&](unsigned i) { return Key{double(length(blocks[i])), area(blocks[i])}; }),
          orderBy(blocks, [&](unsigned i) { return Key{most[i], area(blocks[i])}; }),
          orderBy(blocks, [&](unsigned i) { return Key{most[i], double(length(blocks[i]))}; })};
}

/// Puts each block, in `order`, at the lowest offset that is free during its lifetime (first fit).
void packGreedily(MutableArrayRef<ArenaBlock> blocks, const Order &order, const Neighbours &neighbours) {
  std::vector<bool> placed(blocks.size());
  for (unsigned i : order) {
    SmallVector<const ArenaBlock *> below;
    for (unsigned other : neighbours[i])
      if (placed[other])
        below.push_back(&blocks[other]);
    llvm::sort(below, [](const ArenaBlock *a, const ArenaBlock *b) { return a->offset < b->offset; });
    int64_t at = 0;
    for (const ArenaBlock *other : below) {
      if (at + blocks[i].size <= other->offset)
        break;
      at = std::max(at, other->offset + other->size);
    }
    blocks[i].offset = at;
    placed[i] = true;
  }
}

/// Packs the blocks by first fit in order of lifetime begin, with a list of gaps. Used if too many
/// blocks are live at once to visit all pairs.
void packFirstFit(MutableArrayRef<ArenaBlock> blocks) {
  Order byBegin(blocks.size());
  std::iota(byBegin.begin(), byBegin.end(), 0u);
  llvm::stable_sort(byBegin, [&](unsigned a, unsigned b) { return blocks[a].life.begin < blocks[b].life.begin; });
  std::multimap<unsigned, unsigned> live;
  std::map<int64_t, int64_t> gaps = {{0, INT64_MAX}}; // free ranges: begin to end offset
  for (unsigned i : byBegin) {
    auto ended = live.lower_bound(blocks[i].life.begin);
    for (auto [end, other] : llvm::make_range(live.begin(), ended)) {
      auto [begin, stop] = std::pair(blocks[other].offset, blocks[other].offset + blocks[other].size);
      auto next = gaps.lower_bound(begin);
      if (next != gaps.end() && next->first == stop) {
        stop = next->second;
        next = gaps.erase(next);
      }
      if (next != gaps.begin() && std::prev(next)->second == begin)
        std::prev(next)->second = stop;
      else if (begin < stop)
        gaps[begin] = stop;
    }
    live.erase(live.begin(), ended);
    int64_t size = blocks[i].size;
    auto gap = llvm::find_if(gaps, [&](auto &one) { return one.second - one.first >= size; });
    blocks[i].offset = gap->first;
    if (size > 0) {
      auto [begin, end] = *gap;
      gaps.erase(gap);
      if (begin + size < end)
        gaps[begin + size] = end;
    }
    live.insert({blocks[i].life.end, i});
  }
}

/// Branch-and-bound search for a packing within `capacity`.
class Search {
public:
  Search(MutableArrayRef<ArenaBlock> blocks, const Order &order, int64_t capacity, int64_t steps)
      : blocks(blocks), capacity(capacity), steps(steps), ranks(blocks.size()), least(blocks.size(), 0),
        neighbours(blocks.size()) {
    for (auto [rank, i] : llvm::enumerate(order))
      ranks[i] = unsigned(rank);
    // Split the program's positions into sections, one from each lifetime begin to the next. Other
    // positions add no constraint, because no further block becomes live there.
    std::map<unsigned, unsigned> begins;
    for (const ArenaBlock &block : blocks)
      begins[block.life.begin];
    unsigned next = 0;
    for (auto &[position, section] : begins)
      section = next++;
    sections.resize(begins.size());
    for (auto [i, block] : llvm::enumerate(blocks)) {
      auto after = begins.upper_bound(block.life.end);
      spans.push_back({begins[block.life.begin], after == begins.end() ? unsigned(begins.size()) : after->second});
      for (unsigned s = spans.back().begin; s < spans.back().end; ++s)
        sections[s].remaining += block.size;
    }
    for (auto [i, a] : llvm::enumerate(blocks))
      for (auto [j, b] : llvm::enumerate(blocks))
        if (i != j && a.life.overlaps(b.life))
          neighbours[i].push_back(unsigned(j));
    laid.resize(blocks.size());
  }

  bool run() {
    std::vector<unsigned> all(blocks.size());
    std::iota(all.begin(), all.end(), 0u);
    return lay(std::move(all), 0, 0);
  }

private:
  /// The sections of the program that a block's lifetime covers: [begin, end).
  struct Span {
    unsigned begin, end;
  };
  /// A section of the program, with the highest end of a block placed in it, and the bytes of its
  /// blocks that are still to place.
  struct Section {
    int64_t floor = 0, remaining = 0, lowest = 0;
  };

  bool comesBefore(unsigned i, unsigned j) const {
    return least[i] != least[j] ? least[i] < least[j] : ranks[i] < ranks[j];
  }

  /// Places the blocks of `rest` at or above the offset `bottom`. At `bottom` itself, only blocks
  /// with a rank of at least `rank` are placed, so that no set of blocks is tried in two orders.
  bool lay(std::vector<unsigned> rest, int64_t bottom, unsigned rank) {
    steps -= 4 * int64_t(rest.size());
    if (steps < 0 || !mayFit(rest, bottom))
      return false;
    llvm::sort(rest, [&](unsigned i, unsigned j) { return comesBefore(i, j); });
    int64_t ceiling = INT64_MAX;
    for (unsigned i : rest)
      ceiling = std::min(ceiling, least[i] + blocks[i].size);
    // `rest` stays sorted during the loop, because put() undoes its changes of `least`, the sort
    // key.
    for (unsigned i : rest) {
      // Stop at the first block that is so high that another block fits entirely below it. That
      // other block has to be placed first; placing the two in the other order would repeat the
      // same packing.
      if (least[i] >= ceiling)
        break;
      if (least[i] < bottom || (least[i] == bottom && ranks[i] < rank))
        continue;
      bool covered = false;
      if (put(i, rest, covered))
        return true;
      // If no other block can rest on this block, placing it higher would not help: give up.
      if (!covered || steps < 0)
        return false;
    }
    return rest.empty();
  }

  /// Returns true if each section of the program has enough space for its blocks in `rest`. The
  /// space begins at the lowest offset that one of these blocks can have, and ends at the capacity.
  bool mayFit(ArrayRef<unsigned> rest, int64_t bottom) {
    for (unsigned i : rest)
      for (unsigned s = spans[i].begin; s < spans[i].end; ++s)
        sections[s].lowest = INT64_MAX;
    for (unsigned i : rest)
      for (unsigned s = spans[i].begin; s < spans[i].end; ++s)
        sections[s].lowest = std::min(sections[s].lowest, least[i]);
    for (unsigned i : rest) {
      steps -= spans[i].end - spans[i].begin;
      for (unsigned s = spans[i].begin; s < spans[i].end; ++s)
        if (std::max({sections[s].floor, sections[s].lowest, bottom}) + sections[s].remaining > capacity)
          return false;
    }
    return true;
  }

  bool put(unsigned i, ArrayRef<unsigned> rest, bool &covered) {
    Span span = spans[i];
    int64_t offset = least[i], end = offset + blocks[i].size;
    SmallVector<int64_t> floors;
    for (unsigned s = span.begin; s < span.end; ++s) {
      floors.push_back(sections[s].floor);
      sections[s].floor = end;
      sections[s].remaining -= blocks[i].size;
    }
    laid[i] = true;
    blocks[i].offset = offset;
    SmallVector<std::pair<unsigned, int64_t>> raised;
    for (unsigned other : neighbours[i]) {
      covered |= !laid[other];
      if (laid[other] || least[other] >= end)
        continue;
      raised.push_back({other, least[other]});
      least[other] = end;
    }
    bool found = layParts(rest, offset, ranks[i] + 1);
    // Undo the bounds of the other blocks after success as well, so that the search of the next
    // independent group of blocks starts from the same state. The offsets of the placed blocks
    // remain.
    for (auto [other, before] : raised)
      least[other] = before;
    laid[i] = false;
    for (unsigned s = span.begin; s < span.end; ++s) {
      sections[s].floor = floors[s - span.begin];
      sections[s].remaining += blocks[i].size;
    }
    return found;
  }

  /// Splits the blocks that are not placed yet into groups whose lifetimes share no section of the
  /// program, and places each group on its own.
  bool layParts(ArrayRef<unsigned> rest, int64_t bottom, unsigned rank) {
    std::vector<unsigned> left;
    for (unsigned i : rest)
      if (!laid[i])
        left.push_back(i);
    llvm::sort(left, [&](unsigned i, unsigned j) {
      return spans[i].begin != spans[j].begin ? spans[i].begin < spans[j].begin : i < j;
    });
    for (size_t first = 0; first < left.size();) {
      unsigned end = spans[left[first]].end;
      size_t last = first + 1;
      for (; last < left.size() && spans[left[last]].begin < end; ++last)
        end = std::max(end, spans[left[last]].end);
      if (!lay({left.begin() + first, left.begin() + last}, bottom, rank))
        return false;
      first = last;
    }
    return true;
  }

  MutableArrayRef<ArenaBlock> blocks;
  int64_t capacity, steps;
  std::vector<unsigned> ranks;
  /// For each block, the lowest offset that the blocks placed so far leave for it.
  std::vector<int64_t> least;
  std::vector<std::vector<unsigned>> neighbours;
  std::vector<bool> laid;
  std::vector<Span> spans;
  std::vector<Section> sections;
};

/// Packs blocks whose lifetimes are connected by overlaps. Stops if the packing is at most `enough`
/// bytes high.
int64_t packConnected(MutableArrayRef<ArenaBlock> blocks, int64_t enough, int64_t steps) {
  constexpr size_t maxSearched = 2000;
  std::vector<ArenaBlock> best, trial(blocks.begin(), blocks.end());
  int64_t height = INT64_MAX;
  auto keep = [&] {
    int64_t found = 0;
    for (const ArenaBlock &block : trial)
      found = std::max(found, block.offset + block.size);
    if (found < height) {
      height = found;
      best = trial;
    }
  };
  // Limit of the pairs of blocks with overlapping lifetimes. It bounds packing to some megabytes
  // and some tenths of a second.
  constexpr size_t maxPairs = 4'000'000;
  std::optional<Neighbours> neighbours = neighboursOf(blocks, maxPairs);
  if (!neighbours) {
    packFirstFit(trial);
    keep();
    llvm::copy(best, blocks.begin());
    return height;
  }
  for (const Order &order : greedyOrders(blocks)) {
    packGreedily(trial, order, *neighbours);
    keep();
  }
  if (height > enough && blocks.size() <= maxSearched) {
    SmallVector<Order> orders = searchOrders(blocks);
    // Limit the packing search to some seconds in all, and to less if a better packing would save
    // few bytes.
    constexpr int64_t fullGain = 1 << 20, leastShare = 50;
    steps = std::max(steps / leastShare, steps / fullGain * std::min(height - enough, fullGain));
    for (auto [slack, share] : {std::pair(0.0, 100), {0.0, 5}, {0.0, 1}, {0.01, 2}, {0.02, 2}, {0.05, 5}, {0.1, 5}}) {
      auto capacity = int64_t(double(enough) * (1 + slack));
      for (const Order &order : orders)
        if (capacity < height && Search(trial, order, capacity, steps / share).run())
          keep();
    }
  }
  llvm::copy(best, blocks.begin());
  return height;
}

} // namespace

std::optional<Neighbours> neighboursOf(ArrayRef<ArenaBlock> blocks, size_t most) {
  Order byBegin(blocks.size());
  std::iota(byBegin.begin(), byBegin.end(), 0u);
  llvm::stable_sort(byBegin, [&](unsigned a, unsigned b) { return blocks[a].life.begin < blocks[b].life.begin; });
  Neighbours neighbours(blocks.size());
  std::multimap<unsigned, unsigned> live; // live blocks, by end of lifetime
  size_t count = 0;
  for (unsigned i : byBegin) {
    live.erase(live.begin(), live.lower_bound(blocks[i].life.begin));
    count += live.size();
    if (count > most)
      return std::nullopt;
    for (auto [end, other] : live) {
      neighbours[i].push_back(other);
      neighbours[other].push_back(i);
    }
    live.insert({blocks[i].life.end, i});
  }
  for (SmallVector<unsigned, 4> &others : neighbours)
    llvm::sort(others);
  return neighbours;
}

int64_t liveAtOnce(ArrayRef<ArenaBlock> blocks) {
  std::map<unsigned, int64_t> changes;
  for (const ArenaBlock &block : blocks) {
    changes[block.life.begin] += block.size;
    changes[block.life.end + 1] -= block.size;
  }
  int64_t live = 0, most = 0;
  for (auto [position, change] : changes)
    most = std::max(most, live += change);
  return most;
}

int64_t packBlocks(MutableArrayRef<ArenaBlock> blocks, int64_t steps) {
  int64_t enough = liveAtOnce(blocks), total = 0;
  // Split the blocks into sets whose lifetimes do not overlap, and pack each set independently.
  Order byBegin(blocks.size());
  std::iota(byBegin.begin(), byBegin.end(), 0u);
  llvm::stable_sort(byBegin, [&](unsigned a, unsigned b) { return blocks[a].life.begin < blocks[b].life.begin; });
  for (size_t first = 0; first < byBegin.size();) {
    std::vector<ArenaBlock> part;
    size_t end = first;
    for (unsigned last = 0; end < byBegin.size(); ++end) {
      const ArenaBlock &block = blocks[byBegin[end]];
      if (end > first && block.life.begin > last)
        break;
      last = std::max(last, block.life.end);
      part.push_back(block);
    }
    total = std::max(total, packConnected(part, enough, steps));
    for (size_t i = first; i < end; ++i)
      blocks[byBegin[i]].offset = part[i - first].offset;
    first = end;
  }
  return total;
}

} // namespace hewn::plan
