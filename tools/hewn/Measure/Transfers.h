// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of a model that is split do together, as rows of a profile; and the runs of ranks, as they tell each other of them.
#ifndef HEWN_TOOLS_HEWN_TRANSFERS_H
#define HEWN_TOOLS_HEWN_TRANSFERS_H

#include "tools/hewn/Measure/Trace.h"
#include "tools/hewn/Ranks/Ranks.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"

namespace hewn::tool {

/// The fastest run, as one of the ranks has it.
struct RankRun {
  int rank = 0;
  TracedRun run;
  /// Of its kernels, where the rank is another process.
  llvm::StringSet<> names;
};

/// A rank's own recorder of its runs, but for the first one's: that asks.
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

/// The run of which another rank's records tell. False where the text is none of theirs.
bool readRun(llvm::StringRef text, RankRun &of);

/// What of a profile is about a rank's run: how long its kernels and its transfers took, and each kind of these, by what they are, among which ranks, and
/// of how many bytes, the one that takes the most time first.
llvm::json::Object rankRecord(const RankRun &of);
/// A table of these records' transfers, kinds beside each other for all ranks.
std::string transfersText(const llvm::json::Array &ranks);
/// "all-reduce of 16.4 kB, ranks 0 to 1"
std::string transferName(const llvm::json::Object &transfer);

} // namespace hewn::tool

#endif
