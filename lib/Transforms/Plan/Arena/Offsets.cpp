// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Arena/Offsets.h"
#include "dialects/Graph/Analysis/Bounds/Bounds.h"
#include "lib/Transforms/Plan/Arena/Packing.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <numeric>

using hewn::graph::DimExpr;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace hewn::plan {

namespace {

using Order = std::vector<unsigned>;

class SymbolicPacker {
public:
  SymbolicPacker(ArrayRef<Request> requests, ArrayRef<Sample> samples) : requests(requests) {
    std::vector<ArenaBlock> lives;
    for (const Request &request : requests)
      lives.push_back({0, request.life});
    std::optional<Neighbours> pairs = neighboursOf(lives, maxPairs);
    tooManyPairs = !pairs;
    if (pairs)
      neighbours = std::move(*pairs);
    // A data-dependent buffer size may evaluate to a negative number. It then counts as 0, so that
    // no buffer starts below the buffer that it rests on.
    for (const Request &request : requests)
      bytes.push_back(
          aligned(graph::isKnownNonNegative(request.bytes) ? request.bytes : DimExpr::max(request.bytes, DimExpr(0))));
    for (const Sample &sample : samples) {
      std::vector<ArenaBlock> blocks;
      sizes.emplace_back();
      for (auto [request, size] : llvm::zip(requests, bytes)) {
        sizes.back().push_back(evaluate(size, sample));
        blocks.push_back({sizes.back().back(), request.life});
      }
      live.push_back(std::max<int64_t>(1, liveAtOnce(blocks)));
    }
  }

  Arena run() {
    if (tooManyPairs)
      return packFirstFit();
    // If there are many buffers, only the buffer order from one sample's packing is tried, because
    // each trial takes long.
    size_t tried = requests.size() > maxClimbed ? 1 : sizes.size();
    std::vector<std::pair<double, Order>> starts;
    for (size_t sample = 0; sample < tried && (starts.empty() || starts[0].first > 0); ++sample) {
      Order order = orderFor(sizes.size() - 1 - sample);
      starts.insert(starts.begin(), {excessOf(order), std::move(order)});
      llvm::stable_sort(starts, [](const auto &a, const auto &b) { return a.first < b.first; });
    }
    starts.resize(std::min<size_t>(starts.size(), 3));
    size_t best = 0;
    for (size_t i = 0; i < starts.size(); ++i) {
      if (starts[best].first > negligibleExcess && requests.size() <= maxClimbed)
        climb(starts[i].second, starts[i].first);
      if (starts[i].first < starts[best].first)
        best = i;
    }
    return write(starts[best].second);
  }

private:
  static constexpr size_t maxClimbed = 2000;
  /// Limit of the pairs of buffers with overlapping lifetimes that packing considers. Its time and
  /// memory grow with their number.
  static constexpr size_t maxPairs = 1'000'000;
  /// If the arena size exceeds the peak of live bytes by at most this fraction, the search for a
  /// better buffer order stops.
  static constexpr double negligibleExcess = 0.02;
  /// Limit of buffer visits of the entire search for a buffer order, which then takes some tenths
  /// of a second.
  static constexpr int64_t maxSteps = 200'000'000;

  /// Returns the buffer requests sorted by their offsets in a packing for the sizes of one sample.
  Order orderFor(size_t sample) {
    constexpr int64_t steps = 1'000'000;
    std::vector<ArenaBlock> blocks;
    for (auto [request, size] : llvm::zip(requests, sizes[sample]))
      blocks.push_back({size, request.life});
    packBlocks(blocks, steps);
    Order order(requests.size());
    std::iota(order.begin(), order.end(), 0u);
    llvm::sort(order, [&](unsigned a, unsigned b) {
      return blocks[a].offset != blocks[b].offset ? blocks[a].offset < blocks[b].offset : a < b;
    });
    return order;
  }

  /// Returns the end offset of each buffer if buffers are stacked in this order, for one sample's
  /// sizes.
  std::vector<int64_t> topsOf(const Order &order, ArrayRef<int64_t> own) {
    std::vector<int64_t> tops(own.size(), 0);
    for (unsigned request : order) {
      int64_t at = 0;
      // The end of a buffer that comes later in the order is still 0, so it does not raise this
      // buffer.
      for (unsigned other : neighbours[request])
        at = std::max(at, tops[other]);
      tops[request] = at + own[request];
      steps += int64_t(neighbours[request].size());
    }
    return tops;
  }
  double excessIn(const Order &order, size_t sample) {
    return double(*llvm::max_element(topsOf(order, sizes[sample]))) / double(live[sample]) - 1;
  }
  /// Rates a buffer order by how far its arena size exceeds the peak of live bytes: returns the sum
  /// of the relative excess over all samples, plus four times the largest one.
  double excessOf(const Order &order) {
    double sum = 0, worst = 0;
    for (size_t sample = 0; sample < sizes.size(); ++sample) {
      double above = excessIn(order, sample);
      sum += above;
      worst = std::max(worst, above);
    }
    return sum + 4 * worst;
  }

  /// Improves an order of buffers by hill climbing: shifts single buffers to other positions while
  /// that reduces `excess`, the arena's size above the peak of live bytes. Buffers at the highest
  /// offsets, and those below them, are tried first.
  void climb(Order &order, double &excess) {
    for (bool better = true; better && excess > 0;) {
      better = false;
      SmallVector<unsigned> candidates = highestStack(order);
      for (unsigned request : order)
        if (!llvm::is_contained(candidates, request))
          candidates.push_back(request);
      for (unsigned request : candidates) {
        Order without(order), best;
        without.erase(llvm::find(without, request));
        for (size_t place = 0; place < order.size() && steps < maxSteps; ++place) {
          Order trial(without);
          trial.insert(trial.begin() + place, request);
          if (double found = excessOf(trial); found < excess - 1e-9) {
            excess = found;
            best = std::move(trial);
          }
        }
        if (best.empty())
          continue;
        order = std::move(best);
        better = true;
        break;
      }
    }
  }

  /// Returns the highest stack: the chain of buffers, each resting on the next one, that determines
  /// the arena size in the sample with the largest excess.
  SmallVector<unsigned> highestStack(const Order &order) {
    size_t worst = 0;
    double most = -1;
    for (size_t sample = 0; sample < sizes.size(); ++sample)
      if (double above = excessIn(order, sample); above > most) {
        most = above;
        worst = sample;
      }
    std::vector<int64_t> tops = topsOf(order, sizes[worst]);
    SmallVector<unsigned> stack{unsigned(llvm::max_element(tops) - tops.begin())};
    while (true) {
      int64_t at = tops[stack.back()] - sizes[worst][stack.back()];
      if (at == 0)
        return stack;
      for (unsigned other : neighbours[stack.back()])
        if (tops[other] == at && sizes[worst][other] > 0) {
          stack.push_back(other);
          break;
        }
      if (tops[stack.back()] != at)
        return stack;
    }
  }

  /// Packs buffers by first fit per size. In order of lifetime begin, each buffer gets the offset
  /// of a buffer of equal size whose lifetime has ended, or else the end of the arena. Used if so
  /// many buffers are live at once that visiting all pairs would take too long.
  Arena packFirstFit() {
    Order byBegin(requests.size());
    std::iota(byBegin.begin(), byBegin.end(), 0u);
    llvm::stable_sort(byBegin, [&](unsigned a, unsigned b) { return requests[a].life.begin < requests[b].life.begin; });
    // Free offsets in the arena, by the size of the buffer that was there.
    llvm::StringMap<SmallVector<DimExpr>> freeOffsets;
    std::multimap<unsigned, unsigned> live; // live buffers, by end of lifetime
    arena.offsets.resize(requests.size());
    for (unsigned request : byBegin) {
      auto ended = live.lower_bound(requests[request].life.begin);
      for (auto [end, other] : llvm::make_range(live.begin(), ended))
        freeOffsets[bytes[other].str()].push_back(arena.offsets[other]);
      live.erase(live.begin(), ended);
      SmallVector<DimExpr> &room = freeOffsets[bytes[request].str()];
      if (room.empty()) {
        room.push_back(arena.bytes);
        arena.bytes = shortened(arena.bytes + bytes[request]);
      }
      arena.offsets[request] = room.pop_back_val();
      live.insert({requests[request].life.end, request});
    }
    return std::move(arena);
  }

  /// Returns, for each buffer request, the buffers directly below it. These come earlier in the
  /// order and have an overlapping lifetime, and no other buffer is between.
  std::vector<SmallVector<unsigned, 4>> supportsOfEach(const Order &order) {
    std::vector<SmallVector<unsigned, 4>> under(requests.size()), below(requests.size());
    llvm::BitVector laid(requests.size());
    // For each buffer, the last request whose supports include a buffer on top of it.
    std::vector<unsigned> carries(requests.size());
    unsigned number = 0;
    for (unsigned request : order) {
      llvm::copy_if(neighbours[request], std::back_inserter(below[request]),
                    [&](unsigned other) { return laid[other]; });
      ++number;
      for (unsigned between : below[request])
        for (unsigned other : below[between])
          carries[other] = number;
      llvm::copy_if(below[request], std::back_inserter(under[request]),
                    [&](unsigned other) { return carries[other] != number; });
      laid.set(request);
    }
    return under;
  }

  Arena write(const Order &order) {
    std::vector<SmallVector<unsigned, 4>> underThem = supportsOfEach(order);
    arena.offsets.resize(requests.size());
    SmallVector<DimExpr> tops(requests.size()), highest;
    std::vector<bool> carries(requests.size());
    for (unsigned request : order) {
      SmallVector<DimExpr> under;
      for (unsigned other : underThem[request]) {
        under.push_back(tops[other]);
        carries[other] = true;
      }
      arena.offsets[request] = most(under);
      tops[request] = shortened(arena.offsets[request] + bytes[request]);
    }
    for (unsigned request : order)
      if (!carries[request])
        highest.push_back(tops[request]);
    arena.bytes = most(highest);
    return std::move(arena);
  }

  /// Returns true if a <= b is known for all sizes. If a contains a level, which is the maximum of
  /// several expressions (its sides), then a <= b holds if it holds for every side. If b contains a
  /// level, one side suffices.
  bool isAtMost(const DimExpr &a, const DimExpr &b, int depth = 3) {
    if (graph::isKnownAtMost(a, b))
      return true;
    if (depth == 0)
      return false;
    if (const SmallVector<DimExpr> *sides = levelIn(a))
      return llvm::all_of(*sides, [&](const DimExpr &side) { return isAtMost(with(a, side), b, depth - 1); });
    if (const SmallVector<DimExpr> *sides = levelIn(b))
      return llvm::any_of(*sides, [&](const DimExpr &side) { return isAtMost(a, with(b, side), depth - 1); });
    return false;
  }
  /// Returns the expressions of which the level in `expr` is the maximum, or null if no term of
  /// `expr` is a level.
  const SmallVector<DimExpr> *levelIn(const DimExpr &expr) {
    for (const DimExpr::Term &term : expr.terms())
      if (term.factors.size() == 1)
        if (auto found = sidesOf.find(term.factors[0]->name); found != sidesOf.end())
          return &found->second;
    return nullptr;
  }
  DimExpr with(const DimExpr &expr, const DimExpr &side) {
    for (const DimExpr::Term &term : expr.terms())
      if (term.factors.size() == 1 && sidesOf.contains(term.factors[0]->name))
        return expr - DimExpr::symbol(term.factors[0]->name) + side;
    return expr;
  }

  DimExpr most(ArrayRef<DimExpr> all) {
    SmallVector<DimExpr> sides;
    for (const DimExpr &one : all) {
      if (llvm::any_of(sides, [&](const DimExpr &other) { return isAtMost(one, other); }))
        continue;
      llvm::erase_if(sides, [&](const DimExpr &other) { return isAtMost(other, one); });
      sides.push_back(one);
    }
    if (sides.empty())
      return DimExpr(0);
    if (sides.size() == 1)
      return sides[0];
    llvm::sort(sides, [](const DimExpr &a, const DimExpr &b) { return a.str() < b.str(); });
    DimExpr level = sides[0];
    for (const DimExpr &side : ArrayRef(sides).drop_front())
      level = DimExpr::max(level, side);
    return named(level, std::move(sides));
  }

  /// Returns the symbol of the level whose value is `value`, the maximum of `sides`. Adds the level
  /// to the arena if it is new.
  DimExpr named(const DimExpr &value, SmallVector<DimExpr> sides) {
    auto found = llvm::find(arena.levels, value);
    std::string name = levelName(size_t(found - arena.levels.begin()));
    if (found == arena.levels.end()) {
      arena.levels.push_back(value);
      sidesOf[name] = std::move(sides);
    }
    return DimExpr::symbol(name);
  }

  /// Replaces an arena offset that is a sum of more than kMaxTerms terms by a level. If many
  /// buffers of different sizes are live at once, each offset is the previous offset plus one size;
  /// without levels, these sums would together have a quadratic number of terms.
  DimExpr shortened(const DimExpr &sum) {
    constexpr size_t kMaxTerms = 32;
    return sum.terms().size() > kMaxTerms ? named(sum, {sum}) : sum;
  }

  ArrayRef<Request> requests;
  std::vector<DimExpr> bytes;
  /// The sizes of all requests, and the peak of live bytes, for each sample.
  std::vector<std::vector<int64_t>> sizes;
  std::vector<int64_t> live;
  /// For each request, the requests with overlapping lifetimes.
  Neighbours neighbours;
  bool tooManyPairs = false; // then `neighbours` is empty
  int64_t steps = 0;
  llvm::StringMap<SmallVector<DimExpr>> sidesOf;
  Arena arena;
};

} // namespace

std::string levelName(size_t level) { return "$" + std::to_string(level); }

DimExpr aligned(const DimExpr &bytes) {
  DimExpr unit(kAlignment);
  return bytes.ceilDiv(unit) * unit;
}

Arena packArena(ArrayRef<Request> requests, ArrayRef<Sample> samples) {
  bool known = llvm::all_of(requests, [](const Request &r) { return r.bytes.constant().has_value(); });
  if (!known)
    return SymbolicPacker(requests, samples).run();
  std::vector<ArenaBlock> blocks;
  for (const Request &request : requests)
    blocks.push_back({*aligned(request.bytes).constant(), request.life});
  Arena arena;
  arena.bytes = DimExpr(packBlocks(blocks));
  for (const ArenaBlock &block : blocks)
    arena.offsets.push_back(DimExpr(block.offset));
  return arena;
}

} // namespace hewn::plan
