// SPDX-License-Identifier: Apache-2.0
//
// One round of a search over schedules: the model compiled by some of them beside the model compiled as ever, run in turns, in a process of its
// own.
#ifndef HEWN_TOOLS_HEWN_TUNE_ROUND_H
#define HEWN_TOOLS_HEWN_TUNE_ROUND_H

#include "tools/hewn/Subcommands.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace hewn::tool {

/// What is measured, and where its files lie meanwhile.
struct TunedModel {
  std::string path, folder;
  std::vector<std::string> inputs;
  CompileFlags flags;
  /// The library of the model compiled without a tuning; `survey` makes it.
  std::string base() const { return folder + "/base.so"; }
};

/// Times of two libraries, in microseconds: of a kernel all of its launches in a run, the fastest of the runs.
struct RoundTimes {
  struct Pair {
    double base = 0, other = 0;
  };
  std::map<std::string, Pair> kernels;
  /// Whole runs, and how many of each there were.
  Pair run;
  int64_t runs = 0;
};

/// Why there is no result: what the process said, or how it ended. Of one that has a result, what it said beside it.
struct RoundProblem {
  bool stopped = false;
  std::string why, warnings;
};

/// Compiles the model as ever. What the compiler says of it (docs/reference/json.md, explain); nullopt, and why in `problem`.
std::optional<llvm::json::Object> survey(const TunedModel &model, llvm::function_ref<bool()> stop,
                                         RoundProblem &problem);

/// Compiles the model by the tuning, a text, and runs it and the one of before in turns for `seconds`, at least some times each; it is killed after `limit`
/// seconds, compile and all. An empty text:
/// that one beside itself, which shows the noise. nullopt, and why in `problem`.
std::optional<RoundTimes> measureRound(const TunedModel &model, const std::string &tuning, double seconds, double limit,
                                       llvm::function_ref<bool()> stop, RoundProblem &problem);

} // namespace hewn::tool

#endif
