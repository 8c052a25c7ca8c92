// SPDX-License-Identifier: Apache-2.0
//
// What to try next, out of what explain and profile have found.
#ifndef HEWN_TOOLS_HEWN_SUGGESTIONS_H
#define HEWN_TOOLS_HEWN_SUGGESTIONS_H

#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace hewn::tool {

/// What the command line said that bears on them.
struct SuggestionContext {
  int threads = 1;
  /// How many processors this process may use.
  int processors = 1;
  bool naive = false, quantized = false, rounds = false;
  /// Bytes of the vectors of what runs, and of the best that this machine has.
  int64_t vectorBytes = 0, hostVectorBytes = 0;
  std::string target;
};

struct Suggestion {
  std::string title, evidence;
  /// Flags, as they are written.
  std::string flags;
  /// What it can save of a run at most, in milliseconds; absent where nothing measured tells.
  std::optional<double> atMost;
};

/// At most three, the one that may save most first; those that the record gives no evidence for are not among them. `record` is profile's, or
/// explain's with the least times of its kernels (Roofline): `kernels` are those of the run.
std::vector<Suggestion> suggest(const llvm::json::Object &record, const std::vector<llvm::json::Object> &kernels,
                                double totalMilliseconds, const SuggestionContext &context);

llvm::json::Array toJson(const std::vector<Suggestion> &suggestions);

/// The context, but for what the command line says.
SuggestionContext machineContext(const std::string &target, int threads);

} // namespace hewn::tool

#endif
