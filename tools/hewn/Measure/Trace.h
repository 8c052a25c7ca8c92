// SPDX-License-Identifier: Apache-2.0
//
// What the runtime's trace hook tells of a run: when which kernel ran, and which thread did which of its work.
#ifndef HEWN_TOOLS_HEWN_TRACE_H
#define HEWN_TOOLS_HEWN_TRACE_H

#include "hewn/runtime.h"
#include "tools/hewn/Measure/Counters.h"
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

/// A kernel's launch, or a range of its work, in microseconds from the run's start. The name is the library's.
struct Slice {
  const char *kernel;
  double begin, duration;
  double end() const { return begin + duration; }
};

/// What a rank of a model that is split did with others (hewn_transfer), in microseconds from the run's start.
struct Transfer {
  std::string what, node;
  int32_t first = 0, ranks = 1;
  uint64_t bytes = 0, moved = 0;
  double begin = 0, duration = 0;
  /// Of the duration; absent: the transport can't tell.
  std::optional<double> waited;
  /// By the device's clock, as kernels there.
  bool onDevice = false;
};

struct TracedRun {
  /// In microseconds.
  double total = 0;
  /// By the thread that runs the model; or, `onDevice`, as the device did them, from where its work for the run began.
  std::vector<Slice> launches;
  bool onDevice = false;
  /// Ranges of work in parallel, of each thread that did some: first that one.
  std::vector<std::vector<Slice>> tasks;
  std::vector<Transfer> transfers;
};

/// The times of `busy`, in order, at which nothing of it goes on.
std::vector<Slice> gapsOf(const std::vector<Slice> &busy, double total);

/// A kernel's part of a run.
struct KernelShare {
  std::string name;
  double microseconds = 0;
  int launches = 0;
};
/// The kernels of a run, the one that takes the most time first.
std::vector<KernelShare> sharesOf(const TracedRun &run);
/// The time of a run in its kernels, in its transfers, and in neither, in microseconds.
double inKernels(const TracedRun &run);
double inTransfers(const TracedRun &run);
double outsideOf(const TracedRun &run);

/// Writes down what the hook hears. It must outlive the context that has it.
class Recorder {
public:
  hewn_trace_hook hook() { return {hear, this}; }
  /// For models with code for a device, whose times are the device's then.
  hewn_device_hook deviceHook() { return {hearDevice, this}; }
  /// For models that are split.
  hewn_transfer_hook transferHook() { return {hearTransfer, this}; }
  void begin();
  /// After the run. The names are the library's, and go with it.
  TracedRun end();
  /// From now on kernels are counted, which takes time of the run: its times are of no use then. Null: no more.
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
  /// One for each thread, however many recorders it has beside this one.
  Lane &laneOfThread();

  TracedRun run;
  Clock::time_point start, launched;
  std::mutex lock;
  std::vector<std::unique_ptr<Lane>> lanes;
  size_t launchesBefore = 0;
  std::vector<Slice> onDevice;
  /// Of no other recorder, as its address may be.
  const uint64_t number = nextNumber();
  const HardwareCounters *counting = nullptr;
  Counts before;
  std::map<std::string, Counts> counted;
};

/// The run in the Trace Event Format, which Perfetto and Chrome open: a lane for each of `threads`, with what it did and the gaps between;
/// `describe` gives the arguments of the slice of a kernel's launch: the number of it among those of the kernel, from 0 on. `others`: the runs of
/// other ranks and their numbers, each from its own start.
std::string traceText(const TracedRun &run, const std::string &process, int threads,
                      llvm::function_ref<llvm::json::Object(llvm::StringRef kernel, size_t number)> describe,
                      llvm::ArrayRef<std::pair<int, const TracedRun *>> others = {});

} // namespace hewn::tool

#endif
