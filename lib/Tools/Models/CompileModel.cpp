// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Models/CompileModel.h"
#include "hewn/compiler.h"
#include "lib/Support/Precision.h"
#include "lib/Tools/Models/Calibration.h"
#include "lib/Tools/Models/Messages.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using llvm::StringRef;

namespace hewn::tool {

std::string shellWord(const std::string &text) {
  if (!text.empty() &&
      llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || StringRef("_@%+=:,./-").contains(c); }))
    return text;
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string flagsText(const CompileFlags &flags) {
  std::string all;
  auto add = [&](StringRef flag, const std::string &value) { all += (" --" + flag + " " + shellWord(value)).str(); };
  auto addEach = [&](StringRef flag, const std::vector<std::string> &values) {
    for (const std::string &value : values)
      add(flag, value);
  };
  auto addUnless = [&](StringRef flag, StringRef usual, const std::string &value) {
    if (value != usual)
      add(flag, value);
  };
  auto addBound = [&](StringRef flag, double bound) {
    if (bound > 0)
      add(flag, llvm::formatv("{0}", bound));
  };
  addUnless("target", "host", flags.target);
  addUnless("float32-precision", nameOf(Precision::Highest), flags.precision);
  addEach("dim", flags.dims);
  addUnless("dim-names", "lenient", flags.dimNames);
  addEach("limit", flags.limits);
  addEach("custom-ops", flags.customOps);
  addEach("tuning", flags.tunings);
  addUnless("partition", "", flags.partition);
  addUnless("cluster", "", flags.cluster);
  addUnless("threads", "1", std::to_string(flags.threads));
  addUnless("quantize", "", flags.quantize);
  addUnless("calibrate", "", flags.calibrate);
  addBound("min-sqnr", flags.leastDecibels);
  addBound("max-error", flags.largestError);
  return all + (flags.naive ? " -O0" : "");
}

namespace {

/// Shows the current stage in one line of a terminal, once the compilation takes longer than 1 s.
struct StageProgress {
  llvm::raw_ostream &os;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  bool shown = false;
  static void tell(void *user, const char *stage) {
    auto *self = static_cast<StageProgress *>(user);
    std::chrono::duration<double> past = std::chrono::steady_clock::now() - self->begin;
    if (past.count() < 1 || !self->os.is_displayed())
      return;
    self->os << "\r\033[Khewn: " << stage << " ..." << llvm::format(" %.0f s", past.count());
    self->shown = true;
  }
  ~StageProgress() {
    if (shown)
      showProgress(os, "");
  }
};

} // namespace

/// Returns an error if flags are given without the flags that they require, or an empty string.
static std::string whyNotTogether(const CompileFlags &flags) {
  if (flags.quantizes && flags.quantize.empty())
    return "--quantize requires a scheme, such as int8, or a file";
  if (flags.quantize.empty() && !flags.calibrate.empty())
    return "--calibrate requires --quantize, for example --quantize=int8";
  if (flags.leastDecibels > 0 && flags.calibrate.empty())
    return "--min-sqnr requires calibration samples: --calibrate FOLDER";
  if (flags.largestError > 0 && flags.calibrate.empty())
    return "--max-error requires calibration samples: --calibrate FOLDER";
  return "";
}

bool compileModel(const CompileJob &job, const CompileFlags &flags, llvm::raw_ostream &messages, CompileTexts *texts,
                  std::string *problems) {
  auto complain = [&](const std::string &why) {
    if (problems)
      *problems = why;
    else
      printMessage(messages, "error: " + why);
    return false;
  };
  CalibrationFolder samples;
  std::string problem = whyNotTogether(flags);
  if (!problem.empty() || (!flags.calibrate.empty() && !samples.open(flags.calibrate, problem)))
    return complain(problem);
  auto orNull = [](const std::string &given) { return given.empty() ? nullptr : given.c_str(); };
  auto pointers = [](const std::vector<std::string> &texts) {
    return llvm::map_to_vector(texts, [](const std::string &one) { return one.c_str(); });
  };
  hewn_compile_options options = {};
  options.size = sizeof(options);
  options.model_path = orNull(job.path);
  options.model_bytes = job.bytes.data();
  options.model_size = job.bytes.size();
  options.model_folder = orNull(job.folder);
  options.output = orNull(job.output);
  options.emit = orNull(job.stage);
  options.weights = orNull(job.weights);
  options.save_weights = orNull(job.saveWeights);
  options.name = orNull(job.name);
  options.target = flags.target.c_str();
  options.precision = flags.precision.c_str();
  llvm::SmallVector<const char *> bindings = pointers(flags.dims), bounds = pointers(flags.limits);
  options.dims = bindings.data();
  options.num_dims = bindings.size();
  options.dim_names = orNull(flags.dimNames);
  options.limits = bounds.data();
  options.num_limits = bounds.size();
  llvm::SmallVector<const char *> opsFiles = pointers(flags.customOps);
  options.custom_ops = opsFiles.data();
  options.num_custom_ops = opsFiles.size();
  llvm::SmallVector<const char *> tuningFiles = pointers(flags.tunings);
  options.tunings = tuningFiles.data();
  options.num_tunings = tuningFiles.size();
  options.partition = orNull(flags.partition);
  options.cluster = orNull(flags.cluster);
  options.quantize = orNull(flags.quantize);
  options.least_decibels = flags.leastDecibels;
  options.largest_error = flags.largestError;
  if (!flags.calibrate.empty())
    options.next_sample = CalibrationFolder::next;
  options.next_sample_user = &samples;
  options.remarks = orNull(flags.remarks);
  options.cache_dir = orNull(flags.cacheDir);
  options.no_optimize = flags.naive;
  options.embed_weights = job.embedWeights;
  options.transient = job.transient;
  options.explain = job.explain;
  hewn_compilation *compilation;
  {
    StageProgress progress{messages};
    options.progress = StageProgress::tell;
    options.progress_user = &progress;
    compilation = hewn_compile(&options);
  }
  bool ok = hewn_compilation_ok(compilation);
  for (size_t i = 0; i < hewn_compilation_num_messages(compilation); ++i) {
    const hewn_compile_message &message = *hewn_compilation_message(compilation, i);
    if (!problems)
      printMessage(messages, message.text);
    else if (!message.is_warning && problems->empty())
      *problems = message.text;
  }
  size_t length = 0;
  const char *emitted = hewn_compilation_text(compilation, &length);
  if (texts) {
    *texts = {std::string(emitted, length),
              hewn_compilation_quantization(compilation),
              hewn_compilation_report(compilation),
              {},
              {}};
    for (size_t i = 0; i < hewn_compilation_num_inputs(compilation); ++i)
      texts->inputs.push_back(hewn_compilation_input(compilation, i));
    for (size_t i = 0; i < hewn_compilation_num_files(compilation); ++i)
      texts->files.push_back(hewn_compilation_file(compilation, i));
    auto place = [&](StringRef file) { return file == job.output ? 0 : file.ends_with(".h") ? 1 : 2; };
    llvm::stable_sort(texts->files, [&](StringRef a, StringRef b) { return place(a) < place(b); });
  }
  hewn_compilation_destroy(compilation);
  return ok;
}

} // namespace hewn::tool
