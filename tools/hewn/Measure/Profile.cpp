// SPDX-License-Identifier: Apache-2.0
//
// hewn profile: where a run's time goes, kernel by kernel, by the runtime's trace hook.
#include "lib/Support/Files/OutputFile.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Loaded.h"
#include "tools/hewn/Measure/Interrupt.h"
#include "tools/hewn/Measure/Measure.h"
#include "tools/hewn/Record.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::opt<std::string> profiledModel(cl::Positional, cl::Required, cl::value_desc("model.onnx|libmodel.so"),
                                          cl::sub(profileCommand()));
static cl::list<std::string> profiledInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                            cl::desc("An input, or all of them from an .npz"),
                                            cl::sub(profileCommand()));
static cl::opt<std::string> trace("trace", cl::value_desc("file.json"),
                                  cl::desc("Write the fastest run's launches in Chrome's trace format"),
                                  cl::sub(profileCommand()));
static cl::opt<double, false, SecondsParser> profiledSeconds("seconds", cl::init(2), cl::value_desc("seconds"),
                                                             cl::desc("How long to measure; 2 unless told"),
                                                             cl::sub(profileCommand()));

namespace {

using Clock = std::chrono::steady_clock;

/// One launch, in microseconds from the run's start.
struct Launch {
  std::string kernel;
  double begin, duration;
};

struct Run {
  std::vector<Launch> launches;
  double total = 0; // microseconds
};

/// What the trace hook writes into.
struct Recorder {
  Run run;
  Clock::time_point start, begin;

  static double microseconds(Clock::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }
  static void event(void *user, int32_t phase, const char *kernel) {
    auto *self = static_cast<Recorder *>(user);
    Clock::time_point now = Clock::now();
    if (phase == HEWN_TRACE_BEGIN)
      self->begin = now;
    else
      self->run.launches.push_back({kernel, microseconds(self->begin - self->start), microseconds(now - self->begin)});
  }
};

struct Share {
  double time = 0;
  int launches = 0;
};

} // namespace

/// A run's kernels, the one that takes the most time first.
static std::vector<std::pair<std::string, Share>> sharesOf(const Run &run) {
  llvm::MapVector<std::string, Share, std::map<std::string, unsigned>> shares;
  for (const Launch &launch : run.launches) {
    Share &share = shares[launch.kernel];
    share.time += launch.duration;
    ++share.launches;
  }
  std::vector<std::pair<std::string, Share>> rows(shares.begin(), shares.end());
  llvm::stable_sort(rows, [](const auto &a, const auto &b) { return a.second.time > b.second.time; });
  return rows;
}

/// The time between kernels, in microseconds.
static double outsideOf(const Run &run) {
  double outside = run.total;
  for (const Launch &launch : run.launches)
    outside -= launch.duration;
  return outside;
}

static void printTable(const Run &run) {
  llvm::outs() << llvm::format("%10s %6s %8s  %s\n", "ms", "share", "launches", "kernel");
  auto line = [&](double time, const std::string &launches, const std::string &name) {
    llvm::outs() << llvm::format("%10.4f %5.1f%% %8s  %s\n", time / 1e3, 100 * time / run.total, launches.c_str(),
                                 name.c_str());
  };
  for (const auto &[name, share] : sharesOf(run))
    line(share.time, std::to_string(share.launches), name);
  line(outsideOf(run), "", "between kernels: control flow, parts of the runtime, tracing");
  line(run.total, std::to_string(run.launches.size()), "the fastest run");
}

/// The same for programs, with what is said of all runs.
static json::Object recordOf(const Measurement &measurement, const Run &run) {
  json::Array kernels;
  for (const auto &[name, share] : sharesOf(run))
    kernels.push_back(json::Object{{"kernel", jsonText(name)},
                                   {"milliseconds", share.time / 1e3},
                                   {"share", jsonNumber(share.time / run.total)},
                                   {"launches", share.launches}});
  json::Object record = measurement.record();
  record["fastest_run"] = json::Object{{"milliseconds", run.total / 1e3},
                                       {"launches", int64_t(run.launches.size())},
                                       {"between_kernels_milliseconds", outsideOf(run) / 1e3},
                                       {"kernels", std::move(kernels)}};
  return record;
}

static bool writeTrace(const std::string &path, const Run &run) {
  llvm::json::Array events;
  for (const Launch &launch : run.launches)
    events.push_back(llvm::json::Object{
        {"name", launch.kernel}, {"ph", "X"}, {"ts", launch.begin}, {"dur", launch.duration}, {"pid", 1}, {"tid", 1}});
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object{{"traceEvents", std::move(events)},
                                                                         {"displayTimeUnit", "ms"}})
                                 << "\n";
  llvm::Error error = writeFile(path, text);
  if (!error)
    return true;
  llvm::errs() << "error: " << llvm::toString(std::move(error)) << "\n";
  return false;
}

int profileMain() {
  // The linker, which compiling a model ends with, resets all flags of the process.
  const std::string path = profiledModel, file = trace;
  const std::vector<std::string> given = profiledInputs;
  const double time = profiledSeconds;
  const bool isJson = wantsJson();
  Recorder recorder;
  std::vector<std::string> sizes;
  std::unique_ptr<Loaded> loaded = Loaded::open(path, {Recorder::event, &recorder}, &sizes);
  MeasuredInputs inputs;
  std::vector<Array> outputs;
  if (!loaded || !measuredInputs(*loaded, given, sizes, inputs))
    return 1;
  Run best;
  auto runOnce = [&] {
    recorder.run = {};
    recorder.start = Clock::now();
    if (!loaded->run(inputs.arrays, outputs))
      return false;
    recorder.run.total = Recorder::microseconds(Clock::now() - recorder.start);
    return true;
  };
  Measurement measurement(*loaded, inputs);
  // The first one maps weights.
  bool ran = runOnce() && measure(time, 3, measurement, [&] {
               if (!runOnce())
                 return false;
               if (best.total == 0 || recorder.run.total < best.total)
                 best = std::move(recorder.run);
               return true;
             });
  if (!ran || (!file.empty() && !writeTrace(file, best)))
    return 1;
  if (isJson) {
    printRecord("profile", path, recordOf(measurement, best));
  } else {
    printTable(best);
    llvm::outs() << "code for " << measurement.text();
  }
  return measurement.interrupted ? kInterrupted : 0;
}

} // namespace hewn::tool
