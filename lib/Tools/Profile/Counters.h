// SPDX-License-Identifier: Apache-2.0
//
// Hardware counters of the processor, read by perf_event_open(2).
#ifndef HEWN_LIB_TOOLS_PROFILE_COUNTERS_H
#define HEWN_LIB_TOOLS_PROFILE_COUNTERS_H

#include <array>
#include <cstdint>
#include <string>

namespace hewn::tool {

/// Event counts of a measured section of the program, summed over all threads.
struct Counts {
  uint64_t cycles = 0, instructions = 0, cacheMisses = 0;
  Counts &operator+=(const Counts &other);
  Counts operator-(const Counts &other) const;
};

/// Counts user-space events of the thread that constructs the object and of the threads that it
/// starts afterwards.
class HardwareCounters {
public:
  HardwareCounters();
  HardwareCounters(const HardwareCounters &) = delete;
  ~HardwareCounters();

  /// Returns the reason why hardware counters are not available, or an empty string.
  const std::string &unavailable() const { return missing; }
  /// Returns the counts since construction. Needs one system call per counter.
  Counts read() const;

private:
  std::array<int, 3> files = {-1, -1, -1};
  std::string missing;
};

} // namespace hewn::tool

#endif
