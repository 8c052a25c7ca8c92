// SPDX-License-Identifier: Apache-2.0
//
// Division of the candidates of a tuning search among machines. Each machine determines its
// candidates without communication.
#ifndef HEWN_LIB_TOOLS_TUNE_PART_H
#define HEWN_LIB_TOOLS_TUNE_PART_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace hewn::tool {

/// The part `number` of a search that is divided into `count` parts, counted from 1. Part 1 of 1 is
/// the full search.
struct SearchPart {
  int number = 1, count = 1;
  bool isWhole() const { return count == 1; }
  /// Returns true if a candidate schedule belongs to this part. `kernel` is the number of the
  /// kernel, `place` the index of the candidate (0 is the cost model's choice); both numberings are
  /// the same on all machines. Each part has every `count`-th candidate of a kernel, so all parts
  /// need the same number of rounds. `kernel` is added to the index, so that kernels with fewer
  /// candidates than parts are distributed over all parts.
  bool has(size_t kernel, size_t place) const { return (kernel + place) % size_t(count) == size_t(number) - 1; }
  /// Returns the part as text, for example "2/3".
  std::string text() const;
  /// Parses a part, for example "2/3". Returns nullopt if the text is invalid.
  static std::optional<SearchPart> parse(llvm::StringRef text);
};

} // namespace hewn::tool

#endif
