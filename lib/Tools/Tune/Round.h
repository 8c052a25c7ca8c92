// SPDX-License-Identifier: Apache-2.0
//
// One round of a search over schedules: in a child process, compiles the model with candidate
// schedules and runs it alternately with the model compiled with default schedules.
#ifndef HEWN_LIB_TOOLS_TUNE_ROUND_H
#define HEWN_LIB_TOOLS_TUNE_ROUND_H

#include "lib/Target/Targets.h"
#include "lib/Tools/Models/CompileModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace hewn::tool {

/// The model to measure, and the folder of its temporary files.
struct TunedModel {
  std::string path, folder;
  std::vector<std::string> inputs;
  CompileFlags flags;
  /// Path of the library compiled without a tuning; `survey` creates it.
  std::string base() const { return folder + "/base" + target::libraryExtension().str(); }
};

/// Times of the base library and of another library in microseconds. The time of a kernel is the
/// sum of its launches in the fastest run.
struct RoundTimes {
  struct Pair {
    double base = 0, other = 0;
  };
  std::map<std::string, Pair> kernels;
  /// Times of full runs, and the number of runs of each of the two libraries.
  Pair run;
  int64_t runs = 0;
};

/// Messages of a child process. `why`: its error output, or how it ended, if it gave no result.
/// `warnings`: its error output, if it gave a result.
struct RoundProblem {
  bool stopped = false;
  std::string why, warnings;
};

/// Compiles the model without a tuning. Returns the compiler's explanation (docs/reference/json.md,
/// explain), or nullopt with an error in `problem`.
std::optional<llvm::json::Object> survey(const TunedModel &model, llvm::function_ref<bool()> stop,
                                         RoundProblem &problem);

/// Compiles the model with `tuning` (the text of a tuning file) and runs it alternately with the
/// base library for `seconds`, with a minimum number of runs. Kills the child process after `limit`
/// seconds, including compilation. If `tuning` is empty, runs the base library twice, which
/// measures the noise. Returns nullopt with an error in `problem`.
std::optional<RoundTimes> measureRound(const TunedModel &model, const std::string &tuning, double seconds, double limit,
                                       llvm::function_ref<bool()> stop, RoundProblem &problem);

} // namespace hewn::tool

#endif
