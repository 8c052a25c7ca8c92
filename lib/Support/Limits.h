// SPDX-License-Identifier: Apache-2.0
//
// Limits of time and memory for untrusted models. A short file can expand to more than any host
// has: functions that call two functions each, or tensors of few elements that represent gigabytes.
// A compile may cost as much as the size of the file justifies; these limits apply to the data and
// nodes to which the file expands. Users who trust a model can raise them. Limits are counts and
// not times, so that a model compiles to the same code on every host.
#ifndef HEWN_LIB_SUPPORT_LIMITS_H
#define HEWN_LIB_SUPPORT_LIMITS_H

#include "lib/Support/Diagnostics.h"
#include <cstdint>
#include <string>

namespace hewn {

struct Limits {
  /// Limit of the number of nodes in all inlined bodies: function calls, branches and loops.
  int64_t nodes = int64_t(1) << 16;
  /// Limit of the nesting depth of function, branch and loop bodies.
  int64_t nesting = 100;
  /// Limit of the bytes of data that the file stores in a shorter form: attributes of functions,
  /// which are copied for each call, and sparse tensors.
  int64_t bytes = int64_t(256) << 20;
  /// Limit of the number of element operations that the compiler spends on constant folding, in
  /// addition to a few for each element in the file. Constants that need more are computed at run
  /// time.
  int64_t folding = int64_t(1) << 28;
};

/// Returns the end of a message about an exceeded limit: "the limit of 100 (--limit nesting=NUMBER
/// raises it)".
std::string limitText(llvm::StringRef name, int64_t value);

/// Parses the value of option --limit, such as "nodes=1000", into `limits`. Reports an error and
/// returns false if the text is invalid.
bool parseLimit(llvm::StringRef text, Limits &limits, Diagnostics &diagnostics);

} // namespace hewn

#endif
