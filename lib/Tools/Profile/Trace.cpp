// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Profile/Trace.h"
#include "lib/Support/JsonWriter.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <memory>

namespace json = llvm::json;

namespace hewn::tool {

static double microseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

//===------------------------------------------------------------------------------------------===//
// Recording
//===------------------------------------------------------------------------------------------===//

uint64_t Recorder::nextNumber() {
  static std::atomic<uint64_t> made = 0;
  return ++made;
}

Recorder::Lane &Recorder::laneOfThread() {
  thread_local uint64_t of = 0;
  thread_local Lane *last = nullptr;
  if (of != number) {
    const std::thread::id thread = std::this_thread::get_id();
    std::lock_guard<std::mutex> guard(lock);
    auto found = llvm::find_if(lanes, [&](const auto &lane) { return lane->thread == thread; });
    if (found == lanes.end()) {
      found = lanes.insert(lanes.end(), std::make_unique<Lane>());
      (*found)->thread = thread;
    }
    of = number;
    last = found->get();
  }
  return *last;
}

void Recorder::hear(void *user, int32_t phase, const char *kernel) {
  auto *self = static_cast<Recorder *>(user);
  Clock::time_point now = Clock::now();
  auto slice = [&](Clock::time_point begin) {
    return Slice{kernel ? kernel : "", microseconds(begin - self->start), microseconds(now - begin)};
  };
  switch (phase) {
  case HEWN_TRACE_BEGIN:
    if (self->counting)
      self->before = self->counting->read();
    self->launched = now;
    break;
  case HEWN_TRACE_END:
    self->run.launches.push_back(slice(self->launched));
    if (self->counting)
      self->counted[kernel] += self->counting->read() - self->before;
    break;
  case HEWN_TRACE_TASK_BEGIN:
    self->laneOfThread().begin = now;
    break;
  case HEWN_TRACE_TASK_END: {
    Lane &lane = self->laneOfThread();
    lane.slices.push_back(slice(lane.begin));
    break;
  }
  default: // an event that only a newer runtime reports
    break;
  }
}

void Recorder::hearDevice(void *user, const char *kernel, double begin, double end) {
  static_cast<Recorder *>(user)->onDevice.push_back({kernel, begin, end - begin});
}

void Recorder::hearTransfer(void *user, const hewn_transfer *heard) {
  auto *self = static_cast<Recorder *>(user);
  Transfer transfer;
  transfer.what = heard->what;
  transfer.node = heard->node;
  transfer.first = heard->first;
  transfer.ranks = heard->ranks;
  transfer.bytes = heard->bytes;
  transfer.moved = heard->moved;
  transfer.duration = heard->end - heard->begin;
  transfer.onDevice = heard->on_device;
  // The runtime reports a transfer through the host when it ends.
  transfer.begin = heard->on_device ? heard->begin : microseconds(Clock::now() - self->start) - transfer.duration;
  if (heard->waited >= 0)
    transfer.waited = heard->waited;
  self->run.transfers.push_back(std::move(transfer));
}

void Recorder::begin() {
  laneOfThread(); // gives this thread, which runs the model, the first lane
  run = {};
  onDevice.clear();
  // Reserves the number of launches of the previous run, which is usually the same.
  run.launches.reserve(launchesBefore);
  for (auto &lane : lanes)
    lane->slices.clear();
  start = Clock::now();
}

TracedRun Recorder::end() {
  run.total = microseconds(Clock::now() - start);
  for (auto &lane : lanes)
    run.tasks.push_back(lane->slices);
  launchesBefore = run.launches.size();
  if ((run.onDevice = !onDevice.empty()))
    run.launches = onDevice; // the host thread only enqueued these launches
  return std::move(run);
}

std::vector<Slice> gapsOf(const std::vector<Slice> &busy, double total) {
  std::vector<Slice> gaps;
  double at = 0;
  for (const Slice &slice : busy) {
    if (slice.begin > at)
      gaps.push_back({"", at, slice.begin - at});
    at = std::max(at, slice.end());
  }
  if (total > at)
    gaps.push_back({"", at, total - at});
  return gaps;
}

std::vector<KernelShare> sharesOf(const TracedRun &run) {
  llvm::MapVector<std::string, KernelShare, std::map<std::string, unsigned>> shares;
  for (const Slice &launch : run.launches) {
    KernelShare &share = shares[launch.kernel];
    share.name = launch.kernel;
    share.microseconds += launch.duration;
    ++share.launches;
  }
  std::vector<KernelShare> rows;
  for (auto &entry : shares)
    rows.push_back(std::move(entry.second));
  llvm::stable_sort(rows, [](const auto &a, const auto &b) { return a.microseconds > b.microseconds; });
  return rows;
}

double inKernels(const TracedRun &run) {
  double inside = 0;
  for (const Slice &launch : run.launches)
    inside += launch.duration;
  return inside;
}

double inTransfers(const TracedRun &run) {
  double inside = 0;
  for (const Transfer &transfer : run.transfers)
    inside += transfer.duration;
  return inside;
}

double outsideOf(const TracedRun &run) { return run.total - inKernels(run) - inTransfers(run); }

//===------------------------------------------------------------------------------------------===//
// Trace Event Format
//===------------------------------------------------------------------------------------------===//

namespace {

/// Collects complete events ("X") of the Trace Event Format, process by process.
class EventList {
public:
  /// Starts a new process of the trace, to which the events that are added later belong.
  void process(int number, std::string text) {
    of = number;
    name("process_name", 1, std::move(text));
  }
  void name(const char *what, int lane, std::string text) {
    all.push_back(json::Object{
        {"name", what}, {"ph", "M"}, {"pid", of}, {"tid", lane}, {"args", json::Object{{"name", jsonText(text)}}}});
  }
  void add(int lane, const char *category, json::Value name, const Slice &slice, json::Object args = {}) {
    all.push_back(json::Object{{"name", std::move(name)},
                               {"cat", category},
                               {"ph", "X"},
                               {"ts", slice.begin},
                               {"dur", slice.duration},
                               {"pid", of},
                               {"tid", lane},
                               {"args", std::move(args)}});
  }
  /// Adds the events of a run: its kernels and transfers to the track `lane`, except transfers by
  /// the host, which are added to track 1, and the gaps between them.
  void addRun(int lane, const TracedRun &run,
              llvm::function_ref<json::Object(llvm::StringRef kernel, size_t number)> describe) {
    std::map<std::string, size_t> launched;
    std::vector<Slice> busy = run.launches;
    for (const Slice &launch : run.launches)
      add(lane, "kernel", jsonText(launch.kernel), launch, describe(launch.kernel, launched[launch.kernel]++));
    for (const Transfer &transfer : run.transfers) {
      Slice slice{"", transfer.begin, transfer.duration};
      json::Object args{{"bytes", int64_t(transfer.bytes)}, {"moved_bytes", int64_t(transfer.moved)}};
      if (transfer.waited)
        args["waited_microseconds"] = *transfer.waited;
      add(transfer.onDevice == run.onDevice ? lane : 1, "transfer", jsonText(transfer.what), slice, std::move(args));
      busy.push_back(slice);
    }
    llvm::sort(busy, [](const Slice &a, const Slice &b) { return a.begin < b.begin; });
    for (const Slice &gap : gapsOf(busy, run.total))
      add(lane, "idle", "between kernels", gap);
  }
  json::Array all;

private:
  int of = 1;
};

} // namespace

std::string traceText(const TracedRun &run, const std::string &process, int threads,
                      llvm::function_ref<json::Object(llvm::StringRef kernel, size_t number)> describe,
                      llvm::ArrayRef<std::pair<int, const TracedRun *>> others) {
  EventList events;
  events.process(1, process);
  int lanes = std::max(threads, int(run.tasks.size()));
  for (int lane = 1; lane <= lanes; ++lane)
    events.name("thread_name", lane, "thread " + std::to_string(lane) + (lane == 1 ? " (runs the model)" : ""));
  const int kernels = run.onDevice ? lanes + 1 : 1;
  if (run.onDevice)
    events.name("thread_name", kernels, "device");
  events.addRun(kernels, run, describe);
  for (int lane = 1; lane <= lanes; ++lane) {
    const std::vector<Slice> none, &tasks = size_t(lane) <= run.tasks.size() ? run.tasks[size_t(lane - 1)] : none;
    for (const Slice &task : tasks)
      events.add(lane, "task", jsonText(task.kernel), task);
    if (lane > 1)
      for (const Slice &gap : gapsOf(tasks, run.total))
        events.add(lane, "idle", "idle", gap);
  }
  for (auto [rank, other] : others) {
    events.process(2 + rank, process + ", rank " + std::to_string(rank));
    events.name("thread_name", 1, "thread 1 (runs the model)");
    if (other->onDevice)
      events.name("thread_name", 2, "device");
    events.addRun(other->onDevice ? 2 : 1, *other, [](llvm::StringRef, size_t) { return json::Object(); });
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(
                                        json::Object{{"traceEvents", std::move(events.all)}, {"displayTimeUnit", "ms"}})
                                 << "\n";
  return text;
}

} // namespace hewn::tool
