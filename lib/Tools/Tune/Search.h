// SPDX-License-Identifier: Apache-2.0
//
// Searches the schedules of a model's kernels by measurement.
//
// All kernels with several schedules are searched at the same time: a round compiles the model with
// the next candidate of each kernel, runs it alternately with the default, and compares the times
// of each kernel. So kernels are measured with realistic cache contents, and a round costs one
// compilation for any number of kernels.
#ifndef HEWN_LIB_TOOLS_TUNE_SEARCH_H
#define HEWN_LIB_TOOLS_TUNE_SEARCH_H

#include "lib/Schedule/Tuning.h"
#include "lib/Tools/Tune/Part.h"
#include "lib/Tools/Tune/Round.h"
#include "llvm/Support/Error.h"

namespace hewn::tool {

/// The kernels with the same key. `names` are the names of these kernels in a trace: "conv", "conv
/// [n = 1]".
struct TunedKernels {
  std::string key, model;
  std::vector<std::string> names;
  /// All candidate schedules of these kernels except the cost model's choice. Their indices start
  /// at 1.
  std::vector<std::string> candidates;
  /// Time of the kernels in a run, and its share of the run time.
  double microseconds = 0, share = 0;
  /// Noise of the measurement: relative difference of the kernels' times between two runs of the
  /// same code.
  double noise = 0;
  /// The best candidate, and its time divided by the time of the default in the same round, or 1 if
  /// no candidate is faster.
  std::string best;
  double ratio = 1;
  /// Indices of the candidates that this search measures, in order, and how many it has measured.
  std::vector<size_t> places;
  size_t searched = 0;
  /// Candidates that this search or a previous one has measured.
  plan::TriedCandidates tried;
  /// Times in the last round, which confirms the best candidates, or in the first round if no
  /// candidate was faster.
  double bestMicroseconds = 0, modelMicroseconds = 0;
};

struct SearchResult {
  std::string machine;
  std::vector<TunedKernels> kernels;
  /// Number of rounds, of distinct kernels that a previous search had completed, and of candidates
  /// that belong to other parts of a divided search.
  int64_t rounds = 0, known = 0, others = 0;
  double seconds = 0;
  /// Times of full runs in the last round, or 0 if no run had all the best candidates.
  RoundTimes::Pair run;
  bool interrupted = false;
};

/// Searches the candidates of `part` for `budget` seconds, or until `stop` returns true, and writes
/// progress and warnings to `messages`. Skips candidates that `known` lists as measured; which
/// candidates belong to a part does not depend on `known`. A search that is stopped before the
/// first measurement returns a result without times. After a stop, the search measures the best
/// candidates once more. Returns an error if nothing could be measured.
llvm::Expected<SearchResult> searchSchedules(const TunedModel &model, const plan::Tuning &known, SearchPart part,
                                             double budget, llvm::function_ref<bool()> stop,
                                             llvm::raw_ostream &messages);

} // namespace hewn::tool

#endif
