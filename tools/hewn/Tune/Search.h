// SPDX-License-Identifier: Apache-2.0
//
// A search over the schedules of a model's kernels, by measuring.
//
// All kernels that can be computed in several ways are searched at once: a round is the whole model compiled with the next candidate of each,
// run in turns with the model as the compiler has it, and every kernel is judged by its own time in those runs. So kernels are measured
// as they run, with the caches as their neighbours leave them, and a round costs one compile however many kernels there are.
#ifndef HEWN_TOOLS_HEWN_TUNE_SEARCH_H
#define HEWN_TOOLS_HEWN_TUNE_SEARCH_H

#include "lib/Schedule/Tuning.h"
#include "tools/hewn/Tune/Part.h"
#include "tools/hewn/Tune/Round.h"

namespace hewn::tool {

/// The kernels of one key, by the names that a trace calls them: "conv", "conv [n = 1]".
struct TunedKernels {
  std::string key, model;
  std::vector<std::string> names;
  /// All but the model's, whose places are from 1 on.
  std::vector<std::string> candidates;
  /// Microseconds of a run, and their part of it.
  double microseconds = 0, share = 0;
  /// By how much two runs of the same code differ, relative to their time.
  double noise = 0;
  /// The best candidate and its time relative to the model's in the same round; 1: none is better.
  std::string best;
  double ratio = 1;
  /// Places of candidates that this search tries, in order, and how many of them it has tried.
  std::vector<size_t> places;
  size_t searched = 0;
  /// By this search or by those whose rows are known.
  plan::TriedCandidates tried;
  /// In the last round, or the first one where nothing was better.
  double bestMicroseconds = 0, modelMicroseconds = 0;
};

struct SearchResult {
  std::string machine;
  std::vector<TunedKernels> kernels;
  /// Kinds of kernel that were `known`, and candidates that are of other parts of the search.
  int64_t rounds = 0, known = 0, others = 0;
  double seconds = 0;
  /// Whole runs of the last round; 0: there was none, or none with all that is faster.
  RoundTimes::Pair run;
  bool interrupted = false;
};

/// Searches a part of the candidates for `budget` seconds, or until Ctrl-C, and says how it goes on the standard error. Kernels of which `known` has
/// tried all candidates are left as they are, and of others the rest is tried; what is of which part does not depend on that. Ctrl-C before anything
/// was measured gives a result without times. nullopt after an error was printed.
std::optional<SearchResult> searchSchedules(const TunedModel &model, const plan::Tuning &known, SearchPart part,
                                            double budget);

} // namespace hewn::tool

#endif
