// SPDX-License-Identifier: Apache-2.0
//
// What `hewn explain` counts.
#ifndef HEWN_LIB_COMPILER_EXPLAIN_H
#define HEWN_LIB_COMPILER_EXPLAIN_H

#include "dialects/Plan/Plan.h"
#include <optional>

namespace hewn {

/// How often a run does the launch, by the steps of the counted loops around it; nullopt where that is known only when run.
std::optional<int64_t> launchesARun(plan::LaunchOp launch);

/// The work of one launch.
struct Work {
  /// Multiplications and additions of contractions, as their definition has them.
  int64_t flop = 0;
  /// Bytes of operands and results, each once.
  int64_t bytes = 0;
};
/// nullopt where a dim is known only when run.
std::optional<Work> workOf(plan::KernelOp kernel);

} // namespace hewn

#endif
