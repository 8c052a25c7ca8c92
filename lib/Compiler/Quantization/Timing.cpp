// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Quantization/Timing.h"
#include <algorithm>
#include <chrono>

namespace hewn::quantize {

using Clock = std::chrono::steady_clock;

static double milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
}

Times measure(LoadedLibrary &floats, LoadedLibrary &integers, const std::vector<Array> &inputs) {
  constexpr double budget = 500;
  constexpr int64_t fewest = 3, most = 200;
  Times times;
  std::vector<Array> outputs;
  Clock::time_point begin = Clock::now();
  // The time of the first round of runs is not counted, because the first runs read the weights
  // from the file.
  for (int64_t round = 0; round <= most && (round <= fewest || milliseconds(begin) < budget); ++round)
    for (auto [library, best] : {std::pair(&floats, &times.floats), std::pair(&integers, &times.integers)}) {
      Clock::time_point start = Clock::now();
      if (library->run(inputs, outputs).code != HEWN_OK)
        return {};
      double took = milliseconds(start);
      *best = round <= 1 ? took : std::min(*best, took);
      times.rounds = round;
    }
  return times;
}

} // namespace hewn::quantize
