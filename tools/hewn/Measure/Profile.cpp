// SPDX-License-Identifier: Apache-2.0
//
// hewn profile: where a run's time goes, kernel by kernel, by the runtime's trace hook, of a device by its own clock.
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Precision.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Loaded.h"
#include "tools/hewn/Measure/Interrupt.h"
#include "tools/hewn/Measure/Measure.h"
#include "tools/hewn/Measure/ProfileRecord.h"
#include "tools/hewn/Pages/Pages.h"
#include "tools/hewn/Record.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::opt<std::string> profiledModel(cl::Positional, cl::Required, cl::value_desc("model.onnx|libmodel.so"),
                                          cl::sub(profileCommand()));
static cl::list<std::string> profiledInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                            cl::desc("An input, or all of them from an .npz"),
                                            cl::sub(profileCommand()));
static cl::opt<std::string>
    trace("trace", cl::value_desc("file.json"),
          cl::desc("Write the fastest run, a lane a thread, in the Trace Event Format: Perfetto opens it"),
          cl::sub(profileCommand()));
static cl::opt<std::string> page("html", cl::value_desc("file.html"),
                                 cl::desc("Write a page of it: kernels beside the roofline, the arena, what to try"),
                                 cl::sub(profileCommand()));
static cl::opt<double, false, SecondsParser> profiledSeconds("seconds", cl::init(2), cl::value_desc("seconds"),
                                                             cl::desc("How long to measure; 2 unless told"),
                                                             cl::sub(profileCommand()));

namespace {

/// What the command line said: the linker, which compiling a model ends with, resets all flags of the process.
struct ProfileArguments {
  std::string path = profiledModel, traceFile = trace, pageFile = page;
  std::vector<std::string> inputs = profiledInputs;
  double seconds = profiledSeconds;
  bool isJson = wantsJson();
  CompileFlags flags = compileFlags();

  /// Whether more is said than a table.
  bool wantsAll() const { return isJson || !traceFile.empty() || !pageFile.empty(); }
};

/// Runs of the model, traced.
class Profiler {
public:
  Profiler(Loaded &loaded, Recorder &recorder, const MeasuredInputs &inputs)
      : loaded(loaded), recorder(recorder), inputs(inputs) {}

  bool run(TracedRun &traced) {
    recorder.begin();
    if (!loaded.run(inputs.arrays, outputs))
      return false;
    traced = recorder.end();
    return true;
  }

  /// The fastest one of those that `measurement` takes.
  bool measureFastest(double seconds, Measurement &measurement, TracedRun &fastest) {
    TracedRun traced;
    return run(traced) /* maps weights */ && measure(seconds, 3, measurement, [&] {
             if (!run(traced))
               return false;
             if (fastest.total == 0 || traced.total < fastest.total)
               fastest = std::move(traced);
             return true;
           });
  }

  /// Runs with counters, which make them slower; how many.
  std::optional<int64_t> count(const HardwareCounters &counters, double seconds) {
    constexpr double most = 0.2;
    constexpr int64_t fewest = 3;
    int64_t runs = 0;
    double taken = 0;
    recorder.count(&counters);
    for (TracedRun traced; runs < fewest || taken < std::min(most, seconds) * 1e6; ++runs, taken += traced.total)
      if (!run(traced))
        return std::nullopt;
    recorder.count(nullptr);
    return runs;
  }

private:
  Loaded &loaded;
  Recorder &recorder;
  const MeasuredInputs &inputs;
  std::vector<Array> outputs;
};

} // namespace

static bool complain(const std::string &why) {
  printMessage("error: " + why);
  return false;
}

/// Whether the files can be written when all is done.
static bool canWrite(const ProfileArguments &said) {
  return canWrite(said.traceFile, {said.path}) && canWrite(said.pageFile, {said.path, said.traceFile});
}

/// What was measured to everyone who is to hear it.
static bool tell(const ProfileArguments &said, const Loaded &loaded, const TracedRun &run, json::Object record) {
  llvm::SmallVector<std::pair<std::string, std::string>> files;
  if (!said.traceFile.empty())
    files.push_back(
        {said.traceFile, traceText(run, said.path, loaded.threads(), [&](llvm::StringRef kernel, size_t number) {
           return traceArguments(record, kernel, number);
         })});
  if (!said.pageFile.empty())
    files.push_back({said.pageFile, profilePage(record, run, said.path)});
  for (const auto &[path, text] : files)
    if (llvm::Error error = writeFile(path, text))
      return complain(llvm::toString(std::move(error)));
  if (said.isJson)
    printRecord("profile", said.path, std::move(record));
  else
    llvm::outs() << profileText(record);
  return true;
}

int profileMain() {
  const ProfileArguments said;
  if (!canWrite(said))
    return 1;
  HardwareCounters counters; // counts threads that are made from here on
  Recorder recorder;
  std::vector<std::string> sizes;
  std::string explained;
  Loaded::Opening opening{recorder.hook(), recorder.deviceHook(), said.wantsAll() && said.flags.threads > 1, &sizes};
  if (said.wantsAll())
    opening.explanation = &explained;
  std::unique_ptr<Loaded> loaded = Loaded::open(said.path, opening);
  MeasuredInputs inputs;
  if (!loaded || !measuredInputs(*loaded, said.inputs, sizes, inputs))
    return 1;
  Profiler profiler(*loaded, recorder, inputs);
  Measurement measurement(*loaded, inputs);
  TracedRun fastest;
  if (!profiler.measureFastest(said.seconds, measurement, fastest))
    return 1;
  std::optional<int64_t> counted = 0;
  if (counters.unavailable().empty() && !(counted = profiler.count(counters, said.seconds)))
    return 1;
  bool rounds = said.flags.precision != nameOf(Precision::Highest);
  Roofline roofline = said.isJson || !said.pageFile.empty() ? Roofline(measurement.target, loaded->threads(), rounds)
                                                            : Roofline("it was not asked for");
  llvm::Expected<json::Value> explanation = json::parse(explained.empty() ? "null" : explained);
  if (!explanation)
    return !complain(llvm::toString(explanation.takeError()));
  SuggestionContext context = machineContext(measurement.target, loaded->threads());
  context.naive = said.flags.naive;
  context.quantized = !said.flags.quantize.empty();
  context.rounds = rounds;
  json::Object record = profileRecord(
      {measurement, fastest, std::move(*explanation), roofline, recorder.counts(), *counted, counters.unavailable()},
      context);
  if (!tell(said, *loaded, fastest, std::move(record)))
    return 1;
  if (!said.isJson)
    llvm::outs() << "code for " << measurement.text();
  return measurement.interrupted ? kInterrupted : 0;
}

} // namespace hewn::tool
