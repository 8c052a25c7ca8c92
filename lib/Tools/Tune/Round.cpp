// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Tune/Round.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Tools/Models/ChildProcess.h"
#include "lib/Tools/Models/Loaded.h"
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Measure.h"
#include "lib/Tools/Profile/Trace.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

namespace json = llvm::json;

namespace hewn::tool {

namespace {

/// Timeout of a compilation, in seconds.
constexpr double kLongestCompile = 600;
/// Number of warm-up runs, which map the weights and warm the caches, and minimum number of
/// measured runs.
constexpr int kWarmRuns = 2, kFewestRuns = 5;

/// A loaded library, with a recorder of its kernel launches.
struct Traced {
  Recorder recorder;
  std::unique_ptr<Loaded> loaded;
  MeasuredInputs inputs;
  std::vector<Array> outputs;
  std::map<std::string, double> fastest;
  double run = 0;

  bool open(const std::string &library, const TunedModel &model) {
    loaded = Loaded::openLibrary(library, model.flags.threads, recorder.hook(), llvm::errs());
    return loaded && measuredInputs(*loaded, model.inputs, {}, inputs);
  }

  bool runOnce(bool counts) {
    recorder.begin();
    if (!loaded->run(inputs.arrays, outputs))
      return false;
    TracedRun traced = recorder.end();
    if (!counts)
      return true;
    auto keepLeast = [](double &least, double time) { least = least == 0 ? time : std::min(least, time); };
    keepLeast(run, traced.total);
    for (const KernelShare &share : sharesOf(traced))
      keepLeast(fastest[share.name], share.microseconds);
    return true;
  }
};

/// Runs the base library and the tuned library alternately and reports their times to the parent.
/// Runs in the child process, whose standard error is a file that the parent reads.
void measureHere(const TunedModel &model, const std::string &tuning, double seconds, const Tell &tell) {
  std::string library = model.base();
  if (!tuning.empty()) {
    CompileFlags flags = model.flags;
    flags.tunings = {tuning};
    library = model.folder + "/round" + target::libraryExtension().str();
    CompileJob job;
    job.path = model.path;
    job.output = library;
    job.name = "model";
    job.transient = true;
    if (!compileModel(job, flags, llvm::errs()))
      return;
  }
  Traced base, other;
  if (!base.open(model.base(), model) || !other.open(library, model))
    return;
  int64_t runs = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin = Clock::now();
  for (int i = 0; i < kWarmRuns + kFewestRuns || std::chrono::duration<double>(Clock::now() - begin).count() < seconds;
       ++i) {
    bool counts = i >= kWarmRuns,
         swapped = i % 2; // alternates, since the first library affects the caches of the second
    if (!(swapped ? other : base).runOnce(counts) || !(swapped ? base : other).runOnce(counts))
      return;
    runs += counts;
  }
  json::Object kernels;
  for (const auto &[name, time] : base.fastest)
    if (auto found = other.fastest.find(name); found != other.fastest.end())
      kernels[json::fixUTF8(name)] = json::Array{time, found->second};
  json::Object told{{"kernels", std::move(kernels)}, {"run", json::Array{base.run, other.run}}, {"runs", runs}};
  tell(llvm::formatv("{0}", json::Value(std::move(told))).str());
}

/// Returns the result of a child process, or nullopt with an error in `problem`.
std::optional<json::Object> heard(const ChildEnd &end, RoundProblem &problem) {
  if (end.how == ChildEnd::How::Exited)
    if (llvm::Expected<json::Value> value = json::parse(end.told)) {
      problem.warnings = end.errors;
      if (json::Object *object = value->getAsObject())
        return std::move(*object);
    } else {
      consumeError(value.takeError());
    }
  problem.stopped = end.how == ChildEnd::How::Stopped;
  switch (end.how) {
  case ChildEnd::How::Exited:
    problem.why = end.errors.empty() ? "the process ended without a result" : llvm::StringRef(end.errors).rtrim().str();
    break;
  case ChildEnd::How::Signal:
    problem.why = std::string("the process crashed (") + strsignal(end.number) + ")";
    break;
  case ChildEnd::How::Timeout:
    problem.why = "the process timed out";
    break;
  case ChildEnd::How::Stopped:
    problem.why = "the process was stopped";
    break;
  case ChildEnd::How::NotStarted:
    problem.why = std::string("cannot start a process: ") + strerror(end.number);
    break;
  }
  return std::nullopt;
}

RoundTimes::Pair pairOf(const json::Value &value) {
  const json::Array *both = value.getAsArray();
  if (!both || both->size() != 2)
    return {};
  return {(*both)[0].getAsNumber().value_or(0), (*both)[1].getAsNumber().value_or(0)};
}

} // namespace

std::optional<json::Object> survey(const TunedModel &model, llvm::function_ref<bool()> stop, RoundProblem &problem) {
  ChildEnd end = runInChild(
      kLongestCompile, model.folder + "/child",
      [&](const Tell &tell) {
        CompileJob job;
        job.path = model.path;
        job.output = model.base();
        job.name = "model";
        job.transient = job.explain = true;
        CompileTexts texts;
        if (compileModel(job, model.flags, llvm::errs(), &texts))
          tell(texts.stage);
      },
      stop);
  return heard(end, problem);
}

std::optional<RoundTimes> measureRound(const TunedModel &model, const std::string &tuning, double seconds, double limit,
                                       llvm::function_ref<bool()> stop, RoundProblem &problem) {
  ChildEnd end = runInChild(
      limit, model.folder + "/child", [&](const Tell &tell) { measureHere(model, tuning, seconds, tell); }, stop);
  std::optional<json::Object> told = heard(end, problem);
  if (!told)
    return std::nullopt;
  RoundTimes times;
  if (const json::Object *kernels = told->getObject("kernels"))
    for (const auto &[name, value] : *kernels)
      times.kernels[name.str()] = pairOf(value);
  if (const json::Value *run = told->get("run"))
    times.run = pairOf(*run);
  times.runs = told->getInteger("runs").value_or(0);
  return times;
}

} // namespace hewn::tool
