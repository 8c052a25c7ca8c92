// SPDX-License-Identifier: Apache-2.0
#include "lib/Target/Processors/Processors.h"

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
  auto [base, rest] = name.split('+');
  const auto *found = llvm::find_if(processors, [&, base = base](const Processor &p) { return p.name == base; });
  if (found == processors.end() || name.ends_with("+"))
    return std::nullopt;
  uint64_t bits = found->bits;
  while (!rest.empty()) {
    StringRef one;
    std::tie(one, rest) = rest.split('+');
    uint64_t added = 0;
    for (const InstructionSet &set : sets)
      if (set.name == one && !one.empty() && (set.needs & ~bits) == 0)
        added |= set.bit;
    if (!added)
      return std::nullopt;
    bits |= added;
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
  // The pluses last: taking a feature away takes those along that are built on it.
  llvm::sort(list);
  for (StringRef feature : added)
    list.push_back("+" + feature.str());
  return llvm::join(list, ",");
}

} // namespace hewn::target
