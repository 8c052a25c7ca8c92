// SPDX-License-Identifier: Apache-2.0
//
// Suggestions for a faster model, derived from the results of `hewn explain` and `hewn profile`.
#ifndef HEWN_LIB_TOOLS_PROFILE_SUGGESTIONS_H
#define HEWN_LIB_TOOLS_PROFILE_SUGGESTIONS_H

#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace hewn::tool {

/// Command line flags and target properties that the suggestions depend on.
struct SuggestionContext {
  int threads = 1;
  /// Number of processors that this process may use.
  int processors = 1;
  bool naive = false, quantized = false, rounds = false;
  /// Vector size in bytes that the compilation target uses, and the vector size that this machine
  /// supports.
  int64_t vectorBytes = 0, hostVectorBytes = 0;
  std::string target;
};

struct Suggestion {
  std::string title, evidence;
  /// The flags that the suggestion recommends, as text.
  std::string flags;
  /// Upper bound of the time that the suggestion saves per run, in milliseconds; absent if unknown.
  std::optional<double> atMost;
};

/// Returns at most three suggestions that the record supports, by decreasing possible saving.
/// `record` is that of profile, or that of explain with the lower bounds of kernel times
/// (Roofline). `kernels` are the kernels of the run.
std::vector<Suggestion> suggest(const llvm::json::Object &record, const std::vector<llvm::json::Object> &kernels,
                                double totalMilliseconds, const SuggestionContext &context);

llvm::json::Array toJson(const std::vector<Suggestion> &suggestions);

/// Returns a context with the properties of the target and of this machine. The caller adds the
/// flags of the command line.
SuggestionContext machineContext(const std::string &target, int threads);

} // namespace hewn::tool

#endif
