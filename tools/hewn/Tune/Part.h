// SPDX-License-Identifier: Apache-2.0
//
// A part of a search, for machines that share one: each finds its kinds of kernel without asking the others.
#ifndef HEWN_TOOLS_HEWN_TUNE_PART_H
#define HEWN_TOOLS_HEWN_TUNE_PART_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"
#include <optional>
#include <string>
#include <vector>

namespace hewn::tool {

/// The `number`-th of `count` parts, from 1 on. The first of one is the whole.
struct SearchPart {
  int number = 1, count = 1;
  bool isWhole() const { return count == 1; }
  /// "2/3"
  std::string text() const;
  /// nullopt for what is no such text.
  static std::optional<SearchPart> parse(llvm::StringRef text);
};

/// A flag's value that must be a part.
struct PartParser : llvm::cl::parser<std::string> {
  using parser::parser;
  bool parse(llvm::cl::Option &option, llvm::StringRef name, llvm::StringRef text, std::string &value);
};

/// The part, from 1 on, of each of some kinds of kernel, whose work in a run is given in any unit: the heaviest first, each to the part that has
/// the least so far, as Graham does it ("Bounds on multiprocessing timing anomalies", 1969). No part has two kinds more than
/// another where all work is 0, nor more than its share of them, rounded up, in any case: a round compiles them all. The same on every machine.
std::vector<int> dealKinds(llvm::ArrayRef<double> work, int parts);

} // namespace hewn::tool

#endif
