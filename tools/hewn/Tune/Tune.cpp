// SPDX-License-Identifier: Apache-2.0
//
// `hewn tune`: measures schedules on this machine and writes those that are faster than the
// compiler's choice to a file, for --tuning of later compiles.
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "tools/hewn/CommandLine.h"
#include "tools/hewn/Measure/Interrupt.h"
#include "tools/hewn/Measure/Measure.h"
#include "tools/hewn/Record.h"
#include "tools/hewn/Subcommands.h"
#include "tools/hewn/Tune/Search.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace cl = llvm::cl;
namespace json = llvm::json;

namespace hewn::tool {

static cl::list<std::string> tuned(cl::Positional, cl::OneOrMore, cl::value_desc("model.onnx"), cl::sub(tuneCommand()));
static cl::list<std::string> tunedInputs("input", cl::value_desc("name=file.npy|file.npz"),
                                         cl::desc("Array for an input, or an .npz file with several. May be repeated"),
                                         cl::sub(tuneCommand()));
static cl::opt<std::string> tunedOutput("o", cl::value_desc("file"),
                                        cl::desc("Write the tuning to this file, for --tuning of later compiles"),
                                        cl::sub(tuneCommand()));
static cl::opt<double, false, SecondsParser> budget("budget", cl::init(60), cl::value_desc("seconds"),
                                                    cl::desc("Duration of the search (default: 60)"),
                                                    cl::sub(tuneCommand()));
static cl::opt<std::string, false, PartParser>
    searchedPart("part", cl::init("1/1"), cl::value_desc("I/N"),
                 cl::desc("Measure only part I of the candidates, to share a search among N identical machines; "
                          "--merge combines their tunings"),
                 cl::sub(tuneCommand()));
static cl::opt<bool> merges("merge",
                            cl::desc("Merge tuning files, given instead of a model; keep the best schedule of each "
                                     "kernel"),
                            cl::sub(tuneCommand()));

namespace {

/// The flags of `hewn tune`, copied before it compiles: the linker, the last step of a compilation,
/// resets all flags of the process.
struct TuneArguments {
  std::vector<std::string> files = tuned, inputs = tunedInputs;
  std::string output = tunedOutput;
  double seconds = budget;
  SearchPart part = *SearchPart::parse(searchedPart);
  bool merge = merges, isJson = wantsJson();
  CompileFlags flags = compileFlags();
};

} // namespace

static int endWith(const std::string &why, int status = 1) {
  printMessage("error: " + why);
  return status;
}

/// Reads tuning files into `tuning`. Returns false after printing the errors of all files.
static bool readTunings(llvm::ArrayRef<std::string> files, plan::Tuning &tuning) {
  Diagnostics diagnostics;
  for (const std::string &file : files)
    (void)tuning.read(file, diagnostics);
  for (const Message &message : diagnostics.messages())
    printMessage(message.str());
  return !diagnostics.hasErrors();
}

static bool writeTuning(const std::string &path, const plan::Tuning &tuning) {
  if (llvm::Error error = path.empty() ? llvm::Error::success() : writeFile(path, tuning.text()))
    return endWith(llvm::toString(std::move(error))) == 0;
  return true;
}

/// Returns why a model cannot be tuned with these flags, or an empty string.
static std::string whyNotTuned(const CompileFlags &flags) {
  llvm::Expected<std::vector<codegen::TargetSpec>> machines = target::findAll(flags.target);
  if (!machines)
    return llvm::toString(machines.takeError());
  if (machines->front().device)
    return "tuning for GPUs is not supported: '" + flags.target + "'";
  std::optional<codegen::TargetSpec> host = target::find("host");
  auto isHere = [&](const codegen::TargetSpec &one) {
    return host && one.triple == host->triple && (one.cpuFeatures & ~host->cpuFeatures) == 0;
  };
  auto here = llvm::find_if(*machines, isHere);
  if (here == machines->end())
    return "this machine cannot run code for '" + flags.target + "', so it cannot be tuned here";
  if (machines->size() > 1)
    return "tune one target at a time: --target=" + here->name +
           ", then the others; pass all their files to one compile by --tuning";
  return flags.naive ? "-O0 does not use schedules" : "";
}

static plan::TuningRow rowOf(const TunedKernels &one, const SearchResult &result) {
  plan::TuningRow row;
  row.machine = result.machine;
  row.kernel = one.key;
  row.schedule = one.best.empty() ? one.model : one.best;
  row.model = one.model;
  row.microseconds = one.bestMicroseconds;
  row.modelMicroseconds = one.modelMicroseconds;
  row.tried = one.tried;
  row.processor = cpuName();
  return row;
}

/// Slowdown of the compiler's default schedules relative to the best schedules that the search
/// found, over all kernels that were searched.
struct Gap {
  double mean = 1, worst = 1;
  int64_t faster = 0, searched = 0;
  explicit Gap(const SearchResult &result) {
    double logs = 0;
    for (const TunedKernels &one : result.kernels) {
      if (one.searched == 0)
        continue;
      ++searched;
      double gap = rowOf(one, result).modelMicroseconds / rowOf(one, result).microseconds;
      logs += std::log(gap);
      worst = std::max(worst, gap);
      faster += !one.best.empty();
    }
    if (searched > 0)
      mean = std::exp(logs / double(searched));
  }
};

/// Adds the rows of the kernels that this search measured.
static void addRows(const SearchResult &result, plan::Tuning &tuning) {
  for (const TunedKernels &one : result.kernels)
    if (one.searched > 0)
      tuning.add(rowOf(one, result));
}

static json::Object recordOf(const SearchResult &result, SearchPart part) {
  json::Array kernels;
  for (const TunedKernels &one : result.kernels) {
    plan::TuningRow row = rowOf(one, result);
    kernels.push_back(json::Object{{"kernel", jsonText(one.key)},
                                   {"launched_as", json::Array(one.names)},
                                   {"share", jsonNumber(one.share)},
                                   {"model", jsonText(row.model)},
                                   {"model_microseconds", jsonNumber(row.modelMicroseconds)},
                                   {"schedule", jsonText(row.schedule)},
                                   {"microseconds", jsonNumber(row.microseconds)},
                                   {"noise", jsonNumber(one.noise)},
                                   {"tried", one.tried.count()},
                                   {"candidates", int64_t(one.candidates.size()) + 1}});
  }
  Gap gap(result);
  auto orNull = [](double time) { return time > 0 ? jsonNumber(time) : json::Value(nullptr); };
  return json::Object{{"machine", jsonText(result.machine)},
                      {"cpu", jsonText(cpuName())},
                      {"part", jsonText(part.text())},
                      {"in_other_parts", result.others},
                      {"rounds", result.rounds},
                      {"seconds", jsonNumber(result.seconds)},
                      {"known", result.known},
                      {"interrupted", result.interrupted},
                      {"model_milliseconds", orNull(result.run.base / 1e3)},
                      {"milliseconds", orNull(result.run.other / 1e3)},
                      {"gap_mean", jsonNumber(gap.mean)},
                      {"gap_worst", jsonNumber(gap.worst)},
                      {"kernels", std::move(kernels)}};
}

static void printResult(const SearchResult &result) {
  llvm::raw_ostream &os = llvm::outs();
  for (const TunedKernels &one : result.kernels) {
    if (one.best.empty())
      continue;
    os << llvm::formatv("{0,6:f1} %  {1:f1} -> {2:f1} us  {3}\n          {4} -> {5}\n",
                        100 * (one.modelMicroseconds / one.bestMicroseconds - 1), one.modelMicroseconds,
                        one.bestMicroseconds, printable(one.key), one.model, one.best);
  }
  Gap gap(result);
  if (gap.searched == 0)
    os << "no other schedule was measured\n";
  else
    os << llvm::formatv(
        "{0} of {1} distinct kernels are faster with another schedule than with the default; over all kernels "
        "{2:f1} % in geometric mean, at most {3:f1} %\n",
        gap.faster, gap.searched, 100 * (gap.mean - 1), 100 * (gap.worst - 1));
  if (result.known > 0)
    os << result.known << " more were already searched\n";
  if (result.others > 0)
    os << result.others << " candidates belong to other parts\n";
  if (result.run.base > 0)
    os << llvm::formatv("full run: {0:f3} -> {1:f3} ms\n", result.run.base / 1e3, result.run.other / 1e3);
}

/// Returns the names, with dashes, of the given flags that have no effect. With --merge, nothing is
/// compiled, so the flags of the compilation have none.
static std::vector<std::string> flagsWithoutUse(bool merge) {
  std::vector<std::string> useless;
  for (cl::Option *flag : flagsOf(tuneCommand()))
    if (flag->getNumOccurrences() > 0 &&
        (merge ? !llvm::is_contained({"merge", "o", "json"}, flag->ArgStr) : flag->ArgStr == "remarks"))
      useless.push_back(writtenFlag(flag->ArgStr));
  return useless;
}

/// Returns the input files, which must not be overwritten. Tuning files are not included, because
/// their contents become part of the written file.
static std::vector<std::string> readFiles(const TuneArguments &said) {
  std::vector<std::string> files = {said.files.front()};
  for (const std::string &input : said.inputs)
    files.push_back(input.substr(input.find('=') + 1)); // "name=file.npy" or the file alone
  llvm::append_range(files, said.flags.customOps);
  files.push_back(said.flags.quantize);
  return files;
}

static int mergeTunings(const TuneArguments &said) {
  plan::Tuning tuning;
  if (said.output.empty())
    return endWith("--merge requires an output file: -o FILE", 2);
  if (!readTunings(said.files, tuning) || !writeTuning(said.output, tuning))
    return 1;
  if (said.isJson)
    printRecord("tune", said.output,
                json::Object{{"merged", json::Array(said.files)}, {"rows", int64_t(tuning.size())}});
  return 0;
}

int tuneMain() {
  const TuneArguments said;
  if (std::vector<std::string> useless = flagsWithoutUse(said.merge); !useless.empty())
    return endWith((said.merge ? "--merge only takes files and -o: remove " : "a search writes no remarks: remove ") +
                       llvm::join(useless, ", "),
                   2);
  if (said.merge)
    return mergeTunings(said);
  if (said.files.size() > 1)
    return endWith("only one model can be tuned at a time; use --merge to merge tuning files", 2);
  std::string why = whyNotTuned(said.flags);
  if (!why.empty())
    return endWith(why, 2);
  plan::Tuning tuning;
  if (!canWrite(said.output, readFiles(said)) || !readTunings(said.flags.tunings, tuning))
    return 1;
  llvm::Expected<std::string> folder = makeScratchFolder();
  if (!folder)
    return endWith(llvm::toString(folder.takeError()));
  TunedModel model{said.files.front(), *folder, said.inputs, said.flags};
  model.flags.tunings.clear();
  model.flags.remarks.clear();
  // A cache lets each round reuse the code of kernels whose schedules did not change.
  if (model.flags.cacheDir.empty())
    model.flags.cacheDir = *folder + "/cache";
  std::optional<SearchResult> result = searchSchedules(model, tuning, said.part, said.seconds);
  removeScratchFolder(*folder);
  if (!result)
    return 1;
  addRows(*result, tuning);
  // Ctrl-C came before the first measurement: keep the existing file.
  bool keeps = result->interrupted && Gap(*result).searched == 0;
  if (!keeps && !writeTuning(said.output, tuning))
    return 1;
  if (said.isJson)
    printRecord("tune", said.files.front(), recordOf(*result, said.part));
  else
    printResult(*result);
  return result->interrupted ? kInterrupted : 0;
}

} // namespace hewn::tool
