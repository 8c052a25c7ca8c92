// SPDX-License-Identifier: Apache-2.0
//
// A part of a search, for machines that share one: each finds its candidates without asking the others.
#ifndef HEWN_TOOLS_HEWN_TUNE_PART_H
#define HEWN_TOOLS_HEWN_TUNE_PART_H

#include "llvm/Support/CommandLine.h"
#include <optional>
#include <string>

namespace hewn::tool {

/// The `number`-th of `count` parts, from 1 on. The first of one is the whole.
struct SearchPart {
  int number = 1, count = 1;
  bool isWhole() const { return count == 1; }
  /// Whether a candidate is of this part, by its place behind the model's choice and its kernel's number, both in an order that is the same on all
  /// machines. Each part has every `count`-th candidate of each kernel, so all take as many rounds; where kernels have fewer candidates than
  /// there are parts, the numbers see to it that they are not all of the first part.
  bool has(size_t kernel, size_t place) const { return (kernel + place) % size_t(count) == size_t(number) - 1; }
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

} // namespace hewn::tool

#endif
