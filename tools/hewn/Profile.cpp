// SPDX-License-Identifier: Apache-2.0
//
// `hewn profile`: the time of each kernel of a run, measured by the runtime's trace hook or, on a
// device, by the device's clock.
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Precision.h"
#include "lib/Tools/Profile/Measure.h"
#include "lib/Tools/Profile/ProfileRecord.h"
#include "lib/Tools/Profile/Transfers.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Interrupt.h"
#include "tools/hewn/Json.h"
#include "tools/hewn/Loading.h"
#include "tools/hewn/Pages/Pages.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::opt<std::string> profiledModel(cl::Positional, cl::Required, cl::value_desc("model.onnx|libmodel.so"),
                                          cl::sub(profileCommand()));
static cl::list<std::string> profiledInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                            cl::desc("Array for an input, or an .npz file with several. May be "
                                                     "repeated"),
                                            cl::sub(profileCommand()));
static cl::opt<std::string>
    trace("trace", cl::value_desc("file.json"),
          cl::desc("Write the fastest run in the Trace Event Format (for Perfetto), with a track per thread"),
          cl::sub(profileCommand()));
static cl::opt<std::string> page("html", cl::value_desc("file.html"),
                                 cl::desc("Write an HTML page: kernels compared with the roofline, the arena, "
                                          "suggestions"),
                                 cl::sub(profileCommand()));
static cl::opt<int> profiledRank("rank", cl::init(0), cl::value_desc("number"),
                                 cl::desc("Rank whose kernels are reported, for a split model (default: 0)"),
                                 cl::sub(profileCommand()));
static cl::opt<double, false, SecondsParser> profiledSeconds("seconds", cl::init(2), cl::value_desc("seconds"),
                                                             cl::desc("Duration of the measurement (default: 2)"),
                                                             cl::sub(profileCommand()));

namespace {

/// The flags of `hewn profile`, copied before it compiles: the linker, the last step of a
/// compilation, resets all flags of the process.
struct ProfileArguments {
  std::string path = profiledModel, traceFile = trace, pageFile = page;
  std::vector<std::string> inputs = profiledInputs;
  double seconds = profiledSeconds;
  int rank = profiledRank;
  bool isJson = wantsJson();
  CompileFlags flags = compileFlags();

  /// Returns true if the command writes more than the printed table.
  bool wantsAll() const { return isJson || !traceFile.empty() || !pageFile.empty(); }
};

/// Runs the model and records traces.
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

  /// Stores the times of the runs in `measurement`, and the trace of the fastest run.
  bool measureFastest(double seconds, Measurement &measurement, TracedRun &fastest) {
    TracedRun traced;
    InterruptStopsMeasuring interrupt;
    return run(traced) /* maps weights */ && measure(
                                                 seconds, 3, measurement, [&] { return interrupt.happened(); },
                                                 [&] {
                                                   if (!run(traced))
                                                     return false;
                                                   if (fastest.total == 0 || traced.total < fastest.total) {
                                                     fastest = std::move(traced);
                                                     loaded.keepRun();
                                                   }
                                                   return true;
                                                 });
  }

  /// Runs with hardware counters enabled, which makes runs slower. Returns the number of runs, or
  /// nullopt after an error.
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

/// Checks that the output files are writable.
static bool canWrite(const ProfileArguments &said) {
  return canWrite(said.traceFile, {said.path}) && canWrite(said.pageFile, {said.path, said.traceFile});
}

/// Collects each rank's trace of the fastest run; one trace if the model is not split. Returns
/// false after printing an error.
static bool gatherRuns(Loaded &loaded, TracedRun fastest, std::vector<RankRun> &runs) {
  runs.resize(size_t(std::max(1, loaded.ranks())));
  runs.front().run = std::move(fastest);
  std::vector<std::string> told;
  if (!loaded.askRanks(told))
    return false;
  for (size_t r = 1; r < runs.size(); ++r) {
    runs[r].rank = int(r);
    if (!readRun(told[r - 1], runs[r]))
      return printError("rank " + std::to_string(r) + " returned no trace: does it run another version of hewn?");
  }
  return true;
}

/// Checks that --rank is a rank of the model.
static bool hasRank(const ProfileArguments &said, const Loaded &loaded) {
  if (said.rank >= 0 && said.rank < std::max(1, loaded.ranks()))
    return true;
  return printError(loaded.ranks() == 0
                        ? "--rank requires a model that is split over ranks"
                        : "the model is split over " + std::to_string(loaded.ranks()) +
                              " ranks, counted from 0: invalid " + "--rank=" + std::to_string(said.rank));
}

/// Returns the condition under which the compiler's explanation describes the program of a rank,
/// for example "rank = 1", or an empty string if the model is not split.
static std::string rankCondition(const Loaded &loaded, int rank) {
  const hewn_model &model = loaded.model(); // the last symbol is the rank
  return loaded.ranks() == 0 ? ""
                             : std::string(model.symbols[model.num_symbols - 1].name) + " = " + std::to_string(rank);
}

/// Writes the requested files and prints the report of `run`, which is the run of one rank in
/// `all`.
static bool tell(const ProfileArguments &said, const Loaded &loaded, const TracedRun &run,
                 const std::vector<RankRun> &all, json::Object record) {
  llvm::SmallVector<std::pair<std::string, std::string>> files;
  llvm::SmallVector<std::pair<int, const TracedRun *>> others;
  for (const RankRun &of : all)
    if (&of.run != &run)
      others.push_back({of.rank, &of.run});
  if (!said.traceFile.empty())
    files.push_back(
        {said.traceFile,
         traceText(
             run, said.path, loaded.threads(),
             [&](llvm::StringRef kernel, size_t number) { return traceArguments(record, kernel, number); }, others)});
  if (!said.pageFile.empty())
    files.push_back({said.pageFile, profilePage(record, run, said.path)});
  for (const auto &[path, text] : files)
    if (llvm::Error error = writeFile(path, text))
      return printError(llvm::toString(std::move(error)));
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
  HardwareCounters counters; // counts events of this thread and of the threads that it starts later
  Recorder recorder;
  RunRecords records(recorder); // records the runs of the other ranks for rank 0
  std::vector<std::string> sizes;
  std::string explained;
  Loaded::Opening opening;
  opening.trace = recorder.hook();
  opening.device = recorder.deviceHook();
  opening.transfers = recorder.transferHook();
  opening.witness = &records;
  opening.tracesTasks = said.wantsAll() && said.flags.threads > 1;
  opening.sizes = &sizes;
  if (said.wantsAll())
    opening.explanation = &explained;
  std::unique_ptr<Loaded> loaded = openModel(said.path, opening);
  MeasuredInputs inputs;
  if (!loaded || !hasRank(said, *loaded) || !measuredInputs(*loaded, said.inputs, sizes, inputs))
    return 1;
  Profiler profiler(*loaded, recorder, inputs);
  Measurement measurement(*loaded, inputs);
  TracedRun fastest;
  std::vector<RankRun> all;
  if (!profiler.measureFastest(said.seconds, measurement, fastest) || !gatherRuns(*loaded, std::move(fastest), all))
    return 1;
  const RankRun &shown = all[size_t(said.rank)];
  std::optional<int64_t> counted = 0;
  std::string uncounted = counters.unavailable();
  if (loaded->ranks() > 0) // the counters would also count the forked processes of the other ranks
    uncounted = "the model is split over processes";
  if (uncounted.empty() && !(counted = profiler.count(counters, said.seconds)))
    return 1;
  bool rounds = said.flags.precision != nameOf(Precision::Highest);
  Roofline roofline = said.isJson || !said.pageFile.empty() ? Roofline(measurement.target, loaded->threads(), rounds)
                                                            : Roofline("not requested");
  llvm::Expected<json::Value> explanation = json::parse(explained.empty() ? "null" : explained);
  if (!explanation)
    return !printError(llvm::toString(explanation.takeError()));
  SuggestionContext context = machineContext(measurement.target, loaded->threads());
  context.naive = said.flags.naive;
  context.quantized = !said.flags.quantize.empty();
  context.rounds = rounds;
  json::Object record = profileRecord({measurement, shown.run, std::move(*explanation), roofline, recorder.counts(),
                                       *counted, uncounted, rankCondition(*loaded, said.rank)},
                                      context);
  if (loaded->ranks() > 0)
    addRanks(record, all, said.rank);
  if (!tell(said, *loaded, shown.run, all, std::move(record)))
    return 1;
  if (!said.isJson)
    llvm::outs() << "code for " << measurement.text();
  return measurement.interrupted ? kInterrupted : 0;
}

} // namespace hewn::tool
