// SPDX-License-Identifier: Apache-2.0
//
// Transfers between the ranks of a split model, as rows of a profile; and serialization of the
// ranks' traces.
#ifndef HEWN_LIB_TOOLS_PROFILE_TRANSFERS_H
#define HEWN_LIB_TOOLS_PROFILE_TRANSFERS_H

#include "lib/Tools/Models/Ranks.h"
#include "lib/Tools/Profile/Trace.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace hewn::tool {

/// The trace of one rank for the fastest run.
struct RankRun {
  int rank = 0;
  TracedRun run;
  /// Storage for the kernel names of the trace, if the rank is another process.
  llvm::StringSet<> names;
};

/// Records the runs of a rank other than rank 0. Rank 0 requests these records at the end.
class RunRecords : public RunWitness {
public:
  explicit RunRecords(Recorder &recorder) : recorder(recorder) {}
  void begin() override { recorder.begin(); }
  void end() override { last = recorder.end(); }
  void keep() override { kept = std::move(last); }
  std::string tell() override;

private:
  Recorder &recorder;
  TracedRun last, kept;
};

/// Parses the record of another rank. Returns false if the text is not such a record.
bool readRun(llvm::StringRef text, RankRun &of);

/// Returns the part of a profile record about one rank: total times of its kernels and transfers,
/// and its transfers grouped by operation, ranks and size, by decreasing time.
llvm::json::Object rankRecord(const RankRun &of);
/// Returns a table of the transfers in these records, with the same transfer of all ranks in
/// consecutive rows.
std::string transfersText(const llvm::json::Array &ranks);
/// Returns a description, for example "all-reduce of 16.4 kB, ranks 0 to 1".
std::string transferName(const llvm::json::Object &transfer);

} // namespace hewn::tool

#endif
