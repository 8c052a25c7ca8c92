// SPDX-License-Identifier: Apache-2.0
//
// The results of `hewn profile` as one record, from which text, JSON, page and trace are generated.
#ifndef HEWN_LIB_TOOLS_PROFILE_PROFILERECORD_H
#define HEWN_LIB_TOOLS_PROFILE_PROFILERECORD_H

#include "lib/Tools/Profile/Measure.h"
#include "lib/Tools/Profile/Roofline.h"
#include "lib/Tools/Profile/Suggestions.h"
#include "lib/Tools/Profile/Trace.h"
#include "lib/Tools/Profile/Transfers.h"

namespace hewn::tool {

/// The measurements that a record is built from.
struct Profile {
  const Measurement &measurement;
  /// The trace of the fastest run.
  const TracedRun &run;
  /// The compiler's explanation of the model, or null for a compiled library.
  llvm::json::Value explanation;
  const Roofline &roofline;
  /// Hardware event counts of each kernel, summed over `countedRuns` runs. `uncounted` says why
  /// there are no counts.
  const std::map<std::string, Counts> &counts;
  int64_t countedRuns = 0;
  std::string uncounted;
  /// Condition of the rank's program in the explanation ("rank = 1"), or an empty string if the
  /// model is not split.
  std::string rank;
};

/// Returns the record (docs/reference/json.md).
llvm::json::Object profileRecord(const Profile &profile, const SuggestionContext &context);

/// Adds the runs of all ranks to the record of a split model; `shown` is the rank whose run the
/// record describes.
void addRanks(llvm::json::Object &record, const std::vector<RankRun> &ranks, int shown);

/// Returns the nodes of the kernel's launch number `number` in the run. If the run executes each
/// launch of the program once, these are the nodes of that launch, else all nodes of the kernel.
llvm::json::Array nodesOfLaunch(const llvm::json::Object &kernel, size_t number);
/// Returns the arguments of the trace event that represents a launch of the kernel.
llvm::json::Object traceArguments(const llvm::json::Object &record, llvm::StringRef kernel, size_t number);

/// Returns the report as text: the table of the fastest run, and why counters are missing.
std::string profileText(const llvm::json::Object &record);

} // namespace hewn::tool

#endif
