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
#include "tools/hewn/Measure/Transfers.h"
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
static cl::opt<int> profiledRank("rank", cl::init(0), cl::value_desc("number"),
                                 cl::desc("Of a model that is split: whose kernels to tell of; 0 unless told"),
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
  int rank = profiledRank;
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
             if (fastest.total == 0 || traced.total < fastest.total) {
               fastest = std::move(traced);
               loaded.keepRun();
             }
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

/// The fastest run as each rank has it; of a model that is not split there is the first one alone. False after an error was printed.
static bool gatherRuns(Loaded &loaded, TracedRun fastest, std::vector<RankRun> &runs) {
  runs.resize(size_t(std::max(1, loaded.ranks())));
  runs.front().run = std::move(fastest);
  std::vector<std::string> told;
  if (!loaded.askRanks(told))
    return false;
  for (size_t r = 1; r < runs.size(); ++r) {
    runs[r].rank = int(r);
    if (!readRun(told[r - 1], runs[r]))
      return complain("rank " + std::to_string(r) + " told nothing of its runs: does it run another version of hewn?");
  }
  return true;
}

/// Whether the model has the rank that is to be told of.
static bool hasRank(const ProfileArguments &said, const Loaded &loaded) {
  if (said.rank >= 0 && said.rank < std::max(1, loaded.ranks()))
    return true;
  return complain(loaded.ranks() == 0
                      ? "--rank is for a model that is split over ranks, and this one is not"
                      : "the model is split over " + std::to_string(loaded.ranks()) +
                            " ranks, counted from 0: there is no " + "--rank=" + std::to_string(said.rank));
}

/// When the rank's program runs, as the compiler says it: "rank = 1". Empty where the model is not split.
static std::string rankCondition(const Loaded &loaded, int rank) {
  const hewn_model &model = loaded.model(); // whose last symbol is the rank
  return loaded.ranks() == 0 ? ""
                             : std::string(model.symbols[model.num_symbols - 1].name) + " = " + std::to_string(rank);
}

/// What was measured to everyone who is to hear it. `run` is one of `all`.
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
  RunRecords records(recorder); // of the other ranks
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
  std::unique_ptr<Loaded> loaded = Loaded::open(said.path, opening);
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
  if (loaded->ranks() > 0) // which count the processes that are forked, too
    uncounted = "the model is split over processes";
  if (uncounted.empty() && !(counted = profiler.count(counters, said.seconds)))
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
