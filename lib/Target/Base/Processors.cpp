// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Base/Processors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using llvm::ArrayRef;
using llvm::StringRef;

namespace hewn::target {

uint64_t bitsOf(ArrayRef<InstructionSet> sets, const llvm::StringMap<bool> &features) {
  uint64_t bits = 0;
  for (const InstructionSet &set : sets)
    if ((set.needs & ~bits) == 0 && llvm::all_of(set.features, [&](StringRef f) { return features.lookup(f); }))
      bits |= set.bit;
  return bits;
}

std::optional<Processor> parseProcessor(StringRef name, ArrayRef<Processor> processors, ArrayRef<InstructionSet> sets) {
  // CPU names contain dashes, as does "-SET" after a name: the CPU is the longest known name that
  // `name` starts with.
  const Processor *found = nullptr;
  for (const Processor &p : processors)
    if (name.starts_with(p.name) && (name.size() == p.name.size() || StringRef("+-").contains(name[p.name.size()])) &&
        (!found || p.name.size() > found->name.size()))
      found = &p;
  if (!found)
    return std::nullopt;
  uint64_t bits = found->bits;
  for (StringRef rest = name.drop_front(found->name.size()); !rest.empty();) {
    bool adds = rest.consume_front("+");
    if (!adds)
      rest.consume_front("-");
    StringRef one = rest.take_until([](char c) { return c == '+' || c == '-'; });
    rest = rest.drop_front(one.size());
    uint64_t changed = 0;
    for (const InstructionSet &set : sets)
      if (set.name == one && !one.empty() && (adds ? (set.needs & ~bits) == 0 : (set.bit & bits) != 0))
        changed |= set.bit;
    bool isNeeded = !adds && llvm::any_of(sets, [&](const InstructionSet &set) {
      return (bits & ~changed & set.bit) && (set.needs & changed);
    });
    if (!changed || isNeeded)
      return std::nullopt;
    bits = adds ? bits | changed : bits & ~changed;
  }
  return Processor{name, found->cpu, bits};
}

std::string featureList(ArrayRef<InstructionSet> sets, uint64_t bits, ArrayRef<StringRef> implied) {
  std::set<StringRef> added;
  for (const InstructionSet &set : sets)
    if (bits & set.bit)
      added.insert(set.features.begin(), set.features.end());
  std::vector<std::string> list;
  for (StringRef feature : implied)
    if (!added.count(feature))
      list.push_back("-" + feature.str());
  // In LLVM's feature string, features with a plus come last: disabling a feature also disables
  // those that depend on it.
  llvm::sort(list);
  for (StringRef feature : added)
    list.push_back("+" + feature.str());
  return llvm::join(list, ",");
}

} // namespace hewn::target
