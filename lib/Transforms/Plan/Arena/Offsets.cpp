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

class Symbolic {
public:
  Symbolic(ArrayRef<Request> requests, ArrayRef<Sample> samples) : requests(requests) {
    std::vector<ArenaBlock> lives;
    for (const Request &request : requests)
      lives.push_back({0, request.life});
    std::optional<Neighbours> pairs = neighboursOf(lives, mostPairs);
    manyLive = !pairs;
    if (pairs)
      beside = std::move(*pairs);
    // A size that data could make negative takes no room: nothing may slide below what it lies on.
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
    if (manyLive)
      return layAsTheyCome();
    // With many buffers one order is enough.
    size_t tried = requests.size() > mostClimbed ? 1 : sizes.size();
    std::vector<std::pair<double, Order>> starts;
    for (size_t sample = 0; sample < tried && (starts.empty() || starts[0].first > 0); ++sample) {
      Order order = orderFor(sizes.size() - 1 - sample);
      starts.insert(starts.begin(), {excessOf(order), std::move(order)});
      llvm::stable_sort(starts, [](const auto &a, const auto &b) { return a.first < b.first; });
    }
    starts.resize(std::min<size_t>(starts.size(), 3));
    size_t best = 0;
    for (size_t i = 0; i < starts.size(); ++i) {
      if (starts[best].first > enough && requests.size() <= mostClimbed)
        climb(starts[i].second, starts[i].first);
      if (starts[i].first < starts[best].first)
        best = i;
    }
    return write(starts[best].second);
  }

private:
  static constexpr size_t mostClimbed = 2000;
  /// Pairs of buffers that live at once; what is done with them grows with their number and how many of them each has.
  static constexpr size_t mostPairs = 1'000'000;
  /// An excess that no search is worth.
  static constexpr double enough = 0.02;
  /// Buffers looked at in all: some tenths of a second.
  static constexpr int64_t mostSteps = 200'000'000;

  /// The requests by their offsets in a packing for a sample's sizes.
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

  /// The end of each buffer where they are laid in this order, with a sample's sizes.
  std::vector<int64_t> topsOf(const Order &order, ArrayRef<int64_t> own) {
    std::vector<int64_t> tops(own.size(), 0);
    for (unsigned request : order) {
      int64_t at = 0;
      for (unsigned other : beside[request]) // those that come later are at 0 still
        at = std::max(at, tops[other]);
      tops[request] = at + own[request];
      steps += int64_t(beside[request].size());
    }
    return tops;
  }
  double aboveOf(const Order &order, size_t sample) {
    return double(*llvm::max_element(topsOf(order, sizes[sample]))) / double(live[sample]) - 1;
  }
  /// How far an order is above what is live: over all samples, and where it is worst.
  double excessOf(const Order &order) {
    double sum = 0, worst = 0;
    for (size_t sample = 0; sample < sizes.size(); ++sample) {
      double above = aboveOf(order, sample);
      sum += above;
      worst = std::max(worst, above);
    }
    return sum + 4 * worst;
  }

  /// Moves buffers to other places in the order as long as that helps, those of the stack that is too high first.
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
        for (size_t place = 0; place < order.size() && steps < mostSteps; ++place) {
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

  /// The buffers on each other that reach highest, in the sample that is furthest above what is live.
  SmallVector<unsigned> highestStack(const Order &order) {
    size_t worst = 0;
    double most = -1;
    for (size_t sample = 0; sample < sizes.size(); ++sample)
      if (double above = aboveOf(order, sample); above > most) {
        most = above;
        worst = sample;
      }
    std::vector<int64_t> tops = topsOf(order, sizes[worst]);
    SmallVector<unsigned> stack{unsigned(llvm::max_element(tops) - tops.begin())};
    while (true) {
      int64_t at = tops[stack.back()] - sizes[worst][stack.back()];
      if (at == 0)
        return stack;
      for (unsigned other : beside[stack.back()])
        if (tops[other] == at && sizes[worst][other] > 0) {
          stack.push_back(other);
          break;
        }
      if (tops[stack.back()] != at)
        return stack;
    }
  }

  /// Each buffer, as they begin to live, in the room of one of its size that has ended, or behind all others: for buffers of which too
  /// many live at once to look at each pair.
  Arena layAsTheyCome() {
    Order byBegin(requests.size());
    std::iota(byBegin.begin(), byBegin.end(), 0u);
    llvm::stable_sort(byBegin, [&](unsigned a, unsigned b) { return requests[a].life.begin < requests[b].life.begin; });
    llvm::StringMap<SmallVector<DimExpr>> rooms; // by size
    std::multimap<unsigned, unsigned> live;      // by where their lives end
    arena.offsets.resize(requests.size());
    for (unsigned request : byBegin) {
      auto ended = live.lower_bound(requests[request].life.begin);
      for (auto [end, other] : llvm::make_range(live.begin(), ended))
        rooms[bytes[other].str()].push_back(arena.offsets[other]);
      live.erase(live.begin(), ended);
      SmallVector<DimExpr> &room = rooms[bytes[request].str()];
      if (room.empty()) {
        room.push_back(arena.bytes);
        arena.bytes = shortened(arena.bytes + bytes[request]);
      }
      arena.offsets[request] = room.pop_back_val();
      live.insert({requests[request].life.end, request});
    }
    return std::move(arena);
  }

  /// For each request those on which it may lie: the ones before it in the order that live at the same time, but for those on
  /// which another of them lies.
  std::vector<SmallVector<unsigned, 4>> underEach(const Order &order) {
    std::vector<SmallVector<unsigned, 4>> under(requests.size()), below(requests.size());
    llvm::BitVector laid(requests.size());
    std::vector<unsigned> carries(
        requests.size()); // number of the request for which another one of those below lies on it
    unsigned number = 0;
    for (unsigned request : order) {
      llvm::copy_if(beside[request], std::back_inserter(below[request]), [&](unsigned other) { return laid[other]; });
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
    std::vector<SmallVector<unsigned, 4>> underThem = underEach(order);
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

  /// Whether a <= b. A level is at least each of its sides, and at most where all of them are.
  bool neverAbove(const DimExpr &a, const DimExpr &b, int depth = 3) {
    if (graph::isKnownAtMost(a, b))
      return true;
    if (depth == 0)
      return false;
    if (const SmallVector<DimExpr> *sides = levelIn(a))
      return llvm::all_of(*sides, [&](const DimExpr &side) { return neverAbove(with(a, side), b, depth - 1); });
    if (const SmallVector<DimExpr> *sides = levelIn(b))
      return llvm::any_of(*sides, [&](const DimExpr &side) { return neverAbove(a, with(b, side), depth - 1); });
    return false;
  }
  /// The sides of the level that is a term of `expr`.
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
      if (llvm::any_of(sides, [&](const DimExpr &other) { return neverAbove(one, other); }))
        continue;
      llvm::erase_if(sides, [&](const DimExpr &other) { return neverAbove(other, one); });
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

  /// The level that is `value`, the largest of `sides`.
  DimExpr named(const DimExpr &value, SmallVector<DimExpr> sides) {
    auto found = llvm::find(arena.levels, value);
    std::string name = levelName(size_t(found - arena.levels.begin()));
    if (found == arena.levels.end()) {
      arena.levels.push_back(value);
      sidesOf[name] = std::move(sides);
    }
    return DimExpr::symbol(name);
  }

  /// A level in place of a long sum: where many buffers of unlike sizes live at once, each offset is that of the one below and one size
  /// more, and written out they would be as many terms as the square of their number.
  DimExpr shortened(const DimExpr &sum) {
    constexpr size_t kMostTerms = 32;
    return sum.terms().size() > kMostTerms ? named(sum, {sum}) : sum;
  }

  ArrayRef<Request> requests;
  std::vector<DimExpr> bytes;
  /// For each sample the sizes of all requests, and what is live at once.
  std::vector<std::vector<int64_t>> sizes;
  std::vector<int64_t> live;
  /// For each request those that live at the same time.
  Neighbours beside;
  bool manyLive = false; // and `beside` is empty
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
    return Symbolic(requests, samples).run();
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
