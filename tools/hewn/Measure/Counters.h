// SPDX-License-Identifier: Apache-2.0
//
// What the processor counts while kernels run, by perf_event_open(2).
#ifndef HEWN_TOOLS_HEWN_COUNTERS_H
#define HEWN_TOOLS_HEWN_COUNTERS_H

#include <array>
#include <cstdint>
#include <string>

namespace hewn::tool {

/// Of a piece of work, all threads together.
struct Counts {
  uint64_t cycles = 0, instructions = 0, cacheMisses = 0;
  Counts &operator+=(const Counts &other);
  Counts operator-(const Counts &other) const;
};

/// Counts the thread that makes it, and the threads that it starts from then on, outside of the kernel.
class HardwareCounters {
public:
  HardwareCounters();
  HardwareCounters(const HardwareCounters &) = delete;
  ~HardwareCounters();

  /// Why there are none, for readers; empty where there are.
  const std::string &unavailable() const { return missing; }
  /// Since they were made. A system call for each.
  Counts read() const;

private:
  std::array<int, 3> files = {-1, -1, -1};
  std::string missing;
};

} // namespace hewn::tool

#endif
