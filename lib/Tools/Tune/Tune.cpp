// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Tune/Tune.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Support/Files/OutputFile.h"
#include "lib/Support/Files/ScratchFolders.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "lib/Tools/Models/Messages.h"
#include "lib/Tools/Profile/Measure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

namespace json = llvm::json;

namespace hewn::tool {

/// Reads tuning files into `tuning`. Writes their warnings to `messages`. Returns the errors of all
/// files.
static llvm::Error readTunings(llvm::ArrayRef<std::string> files, plan::Tuning &tuning, llvm::raw_ostream &messages) {
  Diagnostics diagnostics;
  for (const std::string &file : files)
    (void)tuning.read(file, diagnostics);
  llvm::Error errors = llvm::Error::success();
  for (const Message &message : diagnostics.messages())
    if (std::string text = message.str(); llvm::StringRef(text).starts_with("error: "))
      errors = llvm::joinErrors(std::move(errors), failure(text));
    else
      printMessage(messages, text);
  return errors;
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

namespace {

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

} // namespace

/// Adds the rows of the kernels that this search measured.
static void addRows(const SearchResult &result, plan::Tuning &tuning) {
  for (const TunedKernels &one : result.kernels)
    if (one.searched > 0)
      tuning.add(rowOf(one, result));
}

json::Object TuneResult::record() const {
  json::Array rows;
  for (const TunedKernels &one : kernels) {
    plan::TuningRow row = rowOf(one, *this);
    rows.push_back(json::Object{{"kernel", jsonText(one.key)},
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
  Gap gap(*this);
  auto orNull = [](double time) { return time > 0 ? jsonNumber(time) : json::Value(nullptr); };
  return json::Object{{"machine", jsonText(machine)},
                      {"cpu", jsonText(cpuName())},
                      {"part", jsonText(part.text())},
                      {"in_other_parts", others},
                      {"rounds", rounds},
                      {"seconds", jsonNumber(seconds)},
                      {"known", known},
                      {"interrupted", interrupted},
                      {"model_milliseconds", orNull(run.base / 1e3)},
                      {"milliseconds", orNull(run.other / 1e3)},
                      {"gap_mean", jsonNumber(gap.mean)},
                      {"gap_worst", jsonNumber(gap.worst)},
                      {"kernels", std::move(rows)}};
}

void TuneResult::print(llvm::raw_ostream &os) const {
  for (const TunedKernels &one : kernels) {
    if (one.best.empty())
      continue;
    os << llvm::formatv("{0,6:f1} %  {1:f1} -> {2:f1} us  {3}\n          {4} -> {5}\n",
                        100 * (one.modelMicroseconds / one.bestMicroseconds - 1), one.modelMicroseconds,
                        one.bestMicroseconds, printable(one.key), one.model, one.best);
  }
  Gap gap(*this);
  if (gap.searched == 0)
    os << "no other schedule was measured\n";
  else
    os << llvm::formatv(
        "{0} of {1} distinct kernels are faster with another schedule than with the default; over all kernels "
        "{2:f1} % in geometric mean, at most {3:f1} %\n",
        gap.faster, gap.searched, 100 * (gap.mean - 1), 100 * (gap.worst - 1));
  if (known > 0)
    os << known << " more were already searched\n";
  if (others > 0)
    os << others << " candidates belong to other parts\n";
  if (run.base > 0)
    os << llvm::formatv("full run: {0:f3} -> {1:f3} ms\n", run.base / 1e3, run.other / 1e3);
}

/// Returns the input files, which must not be overwritten. Tuning files are not included, because
/// their contents become part of the written file.
static std::vector<std::string> readFiles(const TuneOptions &options) {
  std::vector<std::string> files = {options.model};
  for (const std::string &input : options.inputs)
    files.push_back(input.substr(input.find('=') + 1)); // "name=file.npy" or the file alone
  llvm::append_range(files, options.flags.customOps);
  files.push_back(options.flags.quantize);
  return files;
}

llvm::Expected<TuneResult> tune(const TuneOptions &options, llvm::function_ref<bool()> stop,
                                llvm::raw_ostream &messages) {
  if (std::string why = whyNotTuned(options.flags); !why.empty())
    return llvm::make_error<OptionError>(why);
  plan::Tuning tuning;
  if (llvm::Error error = expectWritable(options.output, readFiles(options)))
    return error;
  if (llvm::Error error = readTunings(options.flags.tunings, tuning, messages))
    return error;
  llvm::Expected<std::string> folder = makeScratchFolder();
  if (!folder)
    return folder.takeError();
  TunedModel model{options.model, *folder, options.inputs, options.flags};
  model.flags.tunings.clear();
  // A cache lets each round reuse the code of kernels whose schedules did not change.
  if (model.flags.cacheDir.empty())
    model.flags.cacheDir = *folder + "/cache";
  llvm::Expected<SearchResult> found = searchSchedules(model, tuning, options.part, options.seconds, stop, messages);
  removeScratchFolder(*folder);
  if (!found)
    return found.takeError();
  addRows(*found, tuning);
  // The search was stopped before the first measurement: keep the existing file.
  bool keeps = options.output.empty() || (found->interrupted && Gap(*found).searched == 0);
  if (llvm::Error error = keeps ? llvm::Error::success() : writeFile(options.output, tuning.text()))
    return error;
  return TuneResult{std::move(*found), options.part};
}

json::Object MergeResult::record() const {
  return json::Object{{"merged", json::Array(merged)}, {"rows", int64_t(rows)}};
}

llvm::Expected<MergeResult> mergeTunings(const std::vector<std::string> &files, const std::string &output,
                                         llvm::raw_ostream &messages) {
  plan::Tuning tuning;
  if (llvm::Error error = readTunings(files, tuning, messages))
    return error;
  if (llvm::Error error = writeFile(output, tuning.text()))
    return error;
  return MergeResult{files, tuning.size()};
}

} // namespace hewn::tool
