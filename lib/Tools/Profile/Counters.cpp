// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Profile/Counters.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cerrno>
#include <cstring>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hewn::tool {

Counts &Counts::operator+=(const Counts &other) {
  cycles += other.cycles;
  instructions += other.instructions;
  cacheMisses += other.cacheMisses;
  return *this;
}

Counts Counts::operator-(const Counts &other) const {
  return {cycles - other.cycles, instructions - other.instructions, cacheMisses - other.cacheMisses};
}

/// Explains an error of perf_event_open (see ERRORS in its manual page).
static std::string explain(int error) {
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "the processor provides none to this system, as in most virtual machines";
  if (error == ENOSYS)
    return "this system has no perf_event_open, as in some containers";
  if (error == EACCES || error == EPERM) {
    // Values of perf_event_paranoid up to 2 allow a process to count its own user-space events, so
    // such a value is not the cause of the error.
    int level = 0;
    auto file = llvm::MemoryBuffer::getFileAsStream("/proc/sys/kernel/perf_event_paranoid");
    if (file && !(*file)->getBuffer().trim().getAsInteger(10, level) && level > 2)
      return "this system does not allow them: kernel.perf_event_paranoid is " + std::to_string(level) +
             ", the maximum is 2";
    return "perf_event_open is not allowed, as in most containers";
  }
  return std::string("perf_event_open failed: ") + std::strerror(error);
}

HardwareCounters::HardwareCounters() {
  constexpr uint64_t kinds[] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES};
  for (auto [file, kind] : llvm::zip_equal(files, kinds)) {
    perf_event_attr attr = {};
    attr.type = PERF_TYPE_HARDWARE;
    attr.size = sizeof(attr);
    attr.config = kind;
    attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    attr.inherit = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    constexpr int thisThread = 0, anyProcessor = -1, noGroup = -1;
    file = int(syscall(SYS_perf_event_open, &attr, thisThread, anyProcessor, noGroup, PERF_FLAG_FD_CLOEXEC));
    if (file < 0) {
      missing = explain(errno);
      return;
    }
  }
}

HardwareCounters::~HardwareCounters() {
  for (int file : files)
    if (file >= 0)
      close(file);
}

Counts HardwareCounters::read() const {
  uint64_t values[3] = {};
  for (auto [file, value] : llvm::zip_equal(files, values)) {
    struct {
      uint64_t value, enabled, running; // as attr.read_format orders them
    } told;
    if (file < 0 || ::read(file, &told, sizeof(told)) != ssize_t(sizeof(told)) || told.running == 0)
      continue;
    // If there are more events than hardware counters, the kernel counts each event for part of the
    // time. Extrapolate to the full time.
    value = told.running < told.enabled ? uint64_t(double(told.value) * double(told.enabled) / double(told.running))
                                        : told.value;
  }
  return {values[0], values[1], values[2]};
}

} // namespace hewn::tool
