// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Offsets.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using hewn::graph::DimExpr;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace hewn::plan {

namespace {

/// A buffer whose size is a number of units.
struct Block {
  unsigned request;
  int64_t size;
  Lifetime life;
  int64_t offset = 0;
};

/// Greedy by size; returns the end of the highest block.
int64_t pack(std::vector<Block> &blocks) {
  llvm::sort(blocks,
             [](const Block &a, const Block &b) { return a.size != b.size ? a.size > b.size : a.request < b.request; });
  int64_t total = 0;
  SmallVector<const Block *> placed; // by offset
  for (Block &block : blocks) {
    int64_t at = 0;
    for (const Block *other : placed) {
      if (!other->life.overlaps(block.life))
        continue;
      if (at + block.size <= other->offset)
        break;
      at = std::max(at, other->offset + other->size);
    }
    block.offset = at;
    total = std::max(total, at + block.size);
    placed.insert(
        llvm::upper_bound(placed, &block, [](const Block *a, const Block *b) { return a->offset < b->offset; }),
        &block);
  }
  return total;
}

int64_t liveAtOnce(ArrayRef<Block> blocks) {
  std::map<unsigned, int64_t> changes;
  for (const Block &block : blocks) {
    changes[block.life.begin] += block.size;
    changes[block.life.end + 1] -= block.size;
  }
  int64_t live = 0, most = 0;
  for (auto [position, change] : changes)
    most = std::max(most, live += change);
  return most;
}

/// Whether a <= b whatever the symbols are. Symbols are never negative; of floordiv and the like that is not known.
bool alwaysFits(const DimExpr &a, const DimExpr &b) {
  DimExpr room = b - a;
  for (const DimExpr::Term &term : room.terms()) {
    if (term.coefficient < 0)
      return false;
    for (const DimExpr::AtomRef &factor : term.factors)
      if (factor->name.empty())
        return false;
  }
  return true;
}

struct Slot {
  DimExpr bytes;
  SmallVector<unsigned> requests;
};

/// A size to sort by, where sizes are not comparable.
int64_t typicalSize(const DimExpr &bytes) {
  return bytes.substitute([](llvm::StringRef) { return DimExpr(64); }).constant().value_or(0);
}

std::vector<Slot> fillSlots(ArrayRef<Request> requests, SmallVector<unsigned> members) {
  llvm::sort(members, [&](unsigned a, unsigned b) {
    int64_t x = typicalSize(requests[a].bytes), y = typicalSize(requests[b].bytes);
    return x != y ? x > y : a < b;
  });
  std::vector<Slot> slots;
  for (unsigned member : members) {
    const Request &request = requests[member];
    auto slot = llvm::find_if(slots, [&](const Slot &s) {
      return alwaysFits(request.bytes, s.bytes) &&
             llvm::none_of(s.requests, [&](unsigned r) { return requests[r].life.overlaps(request.life); });
    });
    if (slot == slots.end())
      slot = slots.insert(slots.end(), Slot{request.bytes, {}});
    slot->requests.push_back(member);
  }
  return slots;
}

} // namespace

Arena packArena(ArrayRef<Request> requests) {
  // Below this many bytes a unit, rounding the coefficient to the alignment would waste more than slots do.
  constexpr int64_t smallestCoefficient = 1024;
  Arena arena;
  arena.offsets.resize(requests.size());
  std::vector<Block> fixed;
  llvm::MapVector<llvm::StringRef, std::pair<DimExpr, std::vector<Block>>> products;
  std::vector<std::string> names; // keeps the keys
  names.reserve(requests.size());
  SmallVector<unsigned> rest;
  for (auto [i, request] : llvm::enumerate(requests)) {
    ArrayRef<DimExpr::Term> terms = request.bytes.terms();
    if (std::optional<int64_t> bytes = request.bytes.constant()) {
      fixed.push_back({unsigned(i), int64_t(llvm::alignTo(uint64_t(*bytes), kAlignment)), request.life});
    } else if (terms.size() == 1 && terms[0].coefficient >= smallestCoefficient) {
      DimExpr unit = *request.bytes.divideExactly(DimExpr(terms[0].coefficient));
      auto found = products.find(unit.str());
      if (found == products.end()) {
        names.push_back(unit.str().str());
        found = products.insert({names.back(), {unit, {}}}).first;
      }
      found->second.second.push_back(
          {unsigned(i), int64_t(llvm::alignTo(uint64_t(terms[0].coefficient), kAlignment)), request.life});
    } else {
      rest.push_back(unsigned(i));
    }
  }

  int64_t fixedBytes = pack(fixed);
  arena.maxLive = liveAtOnce(fixed);
  for (const Block &block : fixed)
    arena.offsets[block.request] = DimExpr(block.offset);
  arena.bytes = DimExpr(fixedBytes);
  for (auto &[name, product] : products) {
    auto &[unit, blocks] = product;
    int64_t total = pack(blocks);
    for (const Block &block : blocks)
      arena.offsets[block.request] = arena.bytes + DimExpr(block.offset) * unit;
    arena.bytes = arena.bytes + DimExpr(total) * unit;
  }
  for (const Slot &slot : fillSlots(requests, rest)) {
    for (unsigned request : slot.requests)
      arena.offsets[request] = arena.bytes;
    arena.bytes = arena.bytes + slot.bytes.ceilDiv(DimExpr(kAlignment)) * DimExpr(kAlignment);
  }
  return arena;
}

} // namespace hewn::plan
