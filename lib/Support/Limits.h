// SPDX-License-Identifier: Apache-2.0
//
// A model comes from anywhere, and a short file can ask for what no machine has: functions that call functions twice each, tensors of
// few elements that stand for gigabytes. What a compile spends grows with the file; what a file asks for beyond that has limits, which
// whoever trusts a model may raise. They count, and do not measure time: the same model compiles to the same code everywhere.
#ifndef HEWN_LIB_SUPPORT_LIMITS_H
#define HEWN_LIB_SUPPORT_LIMITS_H

#include "lib/Support/Diagnostics.h"
#include <cstdint>
#include <string>

namespace hewn {

struct Limits {
  /// Nodes in all bodies together that are put in place: calls of functions, branches, loops.
  int64_t nodes = int64_t(1) << 16;
  /// Bodies in bodies.
  int64_t nesting = 100;
  /// Memory for what stands shorter in the file: attributes of functions put in place, sparse tensors.
  int64_t bytes = int64_t(256) << 20;
  /// Operations on elements that constants are computed with when compiling, beside some for each element that the file has; what would
  /// take more is left to the run.
  int64_t folding = int64_t(1) << 28;
};

/// What stands in a message where a limit is reached: "the limit of 100 (--limit nesting=NUMBER raises it)".
std::string limitText(llvm::StringRef name, int64_t value);

/// Reads "nodes=1000" into `limits`; false, after an error, where the text is no such thing.
bool parseLimit(llvm::StringRef text, Limits &limits, Diagnostics &diagnostics);

} // namespace hewn

#endif
