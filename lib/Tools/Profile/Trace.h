// SPDX-License-Identifier: Apache-2.0
//
// Records the events of the runtime's trace hook in a run: kernel launches, and the tasks of each
// thread.
#ifndef HEWN_LIB_TOOLS_PROFILE_TRACE_H
#define HEWN_LIB_TOOLS_PROFILE_TRACE_H

#include "hewn/runtime.h"
#include "lib/Tools/Profile/Counters.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hewn::tool {

/// A launch of a kernel, or one of its tasks; times in microseconds from the start of the run. The
/// library owns the name.
struct Slice {
  const char *kernel;
  double begin, duration;
  double end() const { return begin + duration; }
};

/// A transfer or collective of a rank (hewn_transfer); times in microseconds from the start of the
/// run.
struct Transfer {
  std::string what, node;
  int32_t first = 0, ranks = 1;
  uint64_t bytes = 0, moved = 0;
  double begin = 0, duration = 0;
  /// The part of the transfer's duration that the rank spent waiting for others; absent if the
  /// transport does not report it.
  std::optional<double> waited;
  /// True if the times of the transfer are those of the device's clock, not the host's.
  bool onDevice = false;
};

struct TracedRun {
  /// Duration of the run in microseconds.
  double total = 0;
  /// Launches by the thread that runs the model. If `onDevice`, the executions on the device, with
  /// times from the start of the device's work for the run.
  std::vector<Slice> launches;
  bool onDevice = false;
  /// The tasks of each thread that ran any. The first thread is the one that runs the model.
  std::vector<std::vector<Slice>> tasks;
  std::vector<Transfer> transfers;
};

/// Returns the gaps between the slices `busy`, which are sorted, up to the time `total`.
std::vector<Slice> gapsOf(const std::vector<Slice> &busy, double total);

/// Total time of a kernel in a run.
struct KernelShare {
  std::string name;
  double microseconds = 0;
  int launches = 0;
};
/// Returns the kernels of a run by decreasing time.
std::vector<KernelShare> sharesOf(const TracedRun &run);
/// Return the time of a run, in microseconds, that is spent in kernels, in transfers, and in
/// neither.
double inKernels(const TracedRun &run);
double inTransfers(const TracedRun &run);
double outsideOf(const TracedRun &run);

/// Records the events that the runtime reports to its hooks. Must outlive the context that calls
/// the hooks.
class Recorder {
public:
  hewn_trace_hook hook() { return {hear, this}; }
  /// Hook for models with device code, which reports times of the device's clock.
  hewn_device_hook deviceHook() { return {hearDevice, this}; }
  /// Hook for models that are split.
  hewn_transfer_hook transferHook() { return {hearTransfer, this}; }
  void begin();
  /// Returns the trace of the run that has ended. The names in the trace are valid as long as the
  /// library is loaded.
  TracedRun end();
  /// Counts hardware events per kernel from now on, or stops counting if `counters` is null.
  /// Counting makes runs slower, so their times are not usable.
  void count(const HardwareCounters *counters) { counting = counters; }
  const std::map<std::string, Counts> &counts() const { return counted; }

private:
  using Clock = std::chrono::steady_clock;
  struct Lane {
    std::thread::id thread;
    Clock::time_point begin;
    std::vector<Slice> slices;
  };

  static uint64_t nextNumber();
  static void hear(void *user, int32_t phase, const char *kernel);
  static void hearDevice(void *user, const char *kernel, double begin, double end);
  static void hearTransfer(void *user, const hewn_transfer *transfer);
  /// Returns the lane in which this recorder stores the slices of the calling thread. A thread may
  /// use several recorders.
  Lane &laneOfThread();

  TracedRun run;
  Clock::time_point start, launched;
  std::mutex lock;
  std::vector<std::unique_ptr<Lane>> lanes;
  size_t launchesBefore = 0;
  std::vector<Slice> onDevice;
  /// Number that identifies the recorder. Its address does not, since a later recorder may have the
  /// same address.
  const uint64_t number = nextNumber();
  const HardwareCounters *counting = nullptr;
  Counts before;
  std::map<std::string, Counts> counted;
};

/// Returns the run in the Trace Event Format, which Perfetto and Chrome read: a track for each of
/// `threads`, with its launches, tasks and gaps. `describe` returns the arguments of a launch; its
/// `number` counts the launches of the kernel from 0. `others` are the runs of other ranks and
/// their numbers; the times of each are relative to its own start.
std::string traceText(const TracedRun &run, const std::string &process, int threads,
                      llvm::function_ref<llvm::json::Object(llvm::StringRef kernel, size_t number)> describe,
                      llvm::ArrayRef<std::pair<int, const TracedRun *>> others = {});

} // namespace hewn::tool

#endif
