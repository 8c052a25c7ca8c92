// SPDX-License-Identifier: Apache-2.0
#include "tools/hewn/Measure/Trace.h"
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

//===------------------------------------------------------------------------------------------------------------------===//
// Recording
//===------------------------------------------------------------------------------------------------------------------===//

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
  default: // of a newer runtime
    break;
  }
}

void Recorder::hearDevice(void *user, const char *kernel, double begin, double end) {
  static_cast<Recorder *>(user)->onDevice.push_back({kernel, begin, end - begin});
}

void Recorder::begin() {
  laneOfThread(); // the first one
  run = {};
  onDevice.clear();
  run.launches.reserve(launchesBefore); // a run is as the one before
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
    run.launches = onDevice; // the thread has only asked for them
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

double outsideOf(const TracedRun &run) {
  double outside = run.total;
  for (const Slice &launch : run.launches)
    outside -= launch.duration;
  return outside;
}

//===------------------------------------------------------------------------------------------------------------------===//
// Trace Event Format
//===------------------------------------------------------------------------------------------------------------------===//

namespace {

/// Complete events ("X") of one process.
class EventList {
public:
  void name(const char *what, int lane, std::string text) {
    all.push_back(json::Object{
        {"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", json::Object{{"name", jsonText(text)}}}});
  }
  void add(int lane, const char *category, json::Value name, const Slice &slice, json::Object args = {}) {
    all.push_back(json::Object{{"name", std::move(name)},
                               {"cat", category},
                               {"ph", "X"},
                               {"ts", slice.begin},
                               {"dur", slice.duration},
                               {"pid", 1},
                               {"tid", lane},
                               {"args", std::move(args)}});
  }
  json::Array all;
};

} // namespace

std::string traceText(const TracedRun &run, const std::string &process, int threads,
                      llvm::function_ref<json::Object(llvm::StringRef kernel, size_t number)> describe) {
  EventList events;
  events.name("process_name", 1, process);
  int lanes = std::max(threads, int(run.tasks.size()));
  for (int lane = 1; lane <= lanes; ++lane)
    events.name("thread_name", lane, "thread " + std::to_string(lane) + (lane == 1 ? ", which runs the model" : ""));
  const int kernels = run.onDevice ? lanes + 1 : 1;
  if (run.onDevice)
    events.name("thread_name", kernels, "device");
  std::map<std::string, size_t> launched;
  for (const Slice &launch : run.launches)
    events.add(kernels, "kernel", jsonText(launch.kernel), launch, describe(launch.kernel, launched[launch.kernel]++));
  for (const Slice &gap : gapsOf(run.launches, run.total))
    events.add(kernels, "idle", "between kernels", gap);
  for (int lane = 1; lane <= lanes; ++lane) {
    const std::vector<Slice> none, &tasks = size_t(lane) <= run.tasks.size() ? run.tasks[size_t(lane - 1)] : none;
    for (const Slice &task : tasks)
      events.add(lane, "task", jsonText(task.kernel), task);
    if (lane > 1)
      for (const Slice &gap : gapsOf(tasks, run.total))
        events.add(lane, "idle", "idle", gap);
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(
                                        json::Object{{"traceEvents", std::move(events.all)}, {"displayTimeUnit", "ms"}})
                                 << "\n";
  return text;
}

} // namespace hewn::tool
