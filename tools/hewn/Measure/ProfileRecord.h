// SPDX-License-Identifier: Apache-2.0
//
// All that `hewn profile` has to say, as one record: text, JSON, page and trace are made of it.
#ifndef HEWN_TOOLS_HEWN_PROFILERECORD_H
#define HEWN_TOOLS_HEWN_PROFILERECORD_H

#include "tools/hewn/Measure/Measure.h"
#include "tools/hewn/Measure/Roofline.h"
#include "tools/hewn/Measure/Suggestions.h"
#include "tools/hewn/Measure/Trace.h"
#include "tools/hewn/Measure/Transfers.h"

namespace hewn::tool {

/// What was measured, for a record.
struct Profile {
  const Measurement &measurement;
  /// The fastest run.
  const TracedRun &run;
  /// What the compiler says of the model; null of a library.
  llvm::json::Value explanation;
  const Roofline &roofline;
  /// Of each kernel in all of `countedRuns`, or why nothing is counted.
  const std::map<std::string, Counts> &counts;
  int64_t countedRuns = 0;
  std::string uncounted;
  /// Of a model that is split: of which rank the run is, as the compiler says it ("rank = 1"); else empty.
  std::string rank;
};

/// docs/reference/json.md.
llvm::json::Object profileRecord(const Profile &profile, const SuggestionContext &context);

/// Adds to the record of a model that is split what each rank's run took, and whose run is the record's.
void addRanks(llvm::json::Object &record, const std::vector<RankRun> &ranks, int shown);

/// The nodes of a launch of the record's kernel, the `number`th of it in the run: where a run does each launch of the program's text once, those
/// of that launch, else all of the kernel's.
llvm::json::Array nodesOfLaunch(const llvm::json::Object &kernel, size_t number);
/// The arguments of such a launch's slice in a trace.
llvm::json::Object traceArguments(const llvm::json::Object &record, llvm::StringRef kernel, size_t number);

/// The table of the fastest run, suggestions and whatever is missing, for readers.
std::string profileText(const llvm::json::Object &record);

} // namespace hewn::tool

#endif
