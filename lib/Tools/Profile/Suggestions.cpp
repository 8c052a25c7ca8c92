// SPDX-License-Identifier: Apache-2.0
//
// A suggestion is made by a rule over figures of the record, if the record has these figures. The
// time that a suggestion can save is an upper bound from the roofline model.
#include "lib/Tools/Profile/Suggestions.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "lib/Tools/Models/CompileModel.h"
#include "lib/Tools/Models/Record.h"
#include "lib/Tools/Profile/Roofline.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

namespace {

constexpr size_t kMost = 3;
/// Minimum time that a suggestion has to save, as a fraction of the run.
constexpr double kWorth = 0.05;
/// Minimum speedup of a suggested instruction that changes the results by rounding.
constexpr double kFaster = 1.5;
/// Minimum duration of a kernel launch, in milliseconds, that is worth dividing among threads:
/// starting and joining the threads takes some microseconds.
constexpr double kWorthSharing = 0.02;

std::string milliseconds(double count) {
  return count < 0.1 ? llvm::formatv("{0:f1} µs", count * 1e3).str() : llvm::formatv("{0:f2} ms", count).str();
}
std::string percent(double part) { return llvm::formatv("{0:f0} %", 100 * part); }
/// Returns a count with its noun: "1 kernel", "3 kernels".
std::string counted(size_t count, StringRef one, StringRef several) {
  return std::to_string(count) + " " + (count == 1 ? one : several).str();
}

/// The rules, one method each. They read the record independently of each other.
class Rules {
public:
  Rules(const json::Object &record, const std::vector<json::Object> &kernels, double total,
        const SuggestionContext &context)
      : record(record), kernels(kernels), total(total), context(context),
        measured(!kernels.empty() && kernels.front().get("milliseconds")) {}

  std::vector<Suggestion> all() {
    if (context.naive)
      add("Compile with optimizations", "-O0 disables fusion and vectorization", "without -O0", std::nullopt);
    assumedDims();
    // The suggestions found so far correct the measurement itself. They come before those found
    // below, which are sorted by the time that they save.
    size_t first = found.size();
    moreThreads();
    widerVectors();
    integers();
    fewerBits();
    sixteenBits();
    farthestKernel();
    betweenKernels();
    openDims();
    std::stable_sort(found.begin() + ptrdiff_t(first), found.end(), [](const Suggestion &a, const Suggestion &b) {
      return a.atMost.value_or(0) > b.atMost.value_or(0);
    });
    if (found.size() > kMost)
      found.resize(kMost);
    return std::move(found);
  }

private:
  void add(std::string title, std::string evidence, std::string flags, std::optional<double> atMost) {
    if (!atMost || *atMost >= kWorth * total)
      found.push_back({std::move(title), std::move(evidence), std::move(flags), atMost});
  }

  double timeOf(const json::Object &kernel) const {
    return kernel.getNumber(measured ? "milliseconds" : "least_milliseconds").value_or(0);
  }
  /// Returns, for example, "take 3.20 ms of 4.10 ms (78 %)"; "at least" if the time is a lower
  /// bound.
  std::string shareText(double time, size_t count) const {
    return (count == 1 ? "takes " : "take ") + std::string(measured ? "" : "at least ") + milliseconds(time) + " of " +
           milliseconds(total) + " (" + percent(time / total) + ")";
  }

  double peak(llvm::function_ref<bool(StringRef)> isOne) const {
    double most = 0;
    if (const json::Object *machine = record.getObject("machine"))
      eachObject(*machine, "peaks", [&](const json::Object &one) {
        if (isOne(one.getString("multiplies").value_or("")))
          most = std::max(most, one.getNumber("flop_per_second").value_or(0));
      });
    return most;
  }
  static bool isInteger(StringRef type) { return type.ltrim("su").starts_with("i"); }

  struct Group {
    double time = 0;
    size_t count = 0;
    double bytes = 0, saved = 0;
  };
  /// Returns the float32 contractions that are bound by `roof`.
  Group floatKernels(StringRef roof) const {
    Group group;
    for (const json::Object &kernel : kernels)
      if (kernel.getString("multiplies").value_or("") == "f32" && kernel.getString("roof").value_or("") == roof) {
        group.time += timeOf(kernel);
        ++group.count;
      }
    return group;
  }

  void moreThreads() {
    if (!measured || context.threads >= context.processors)
      return;
    double shared = 0;
    for (const json::Object &kernel : kernels)
      if (double each = timeOf(kernel) / kernel.getNumber("launches").value_or(1); each >= kWorthSharing)
        shared += timeOf(kernel);
    add("Run on more threads",
        llvm::formatv("it ran on {0}, and this process may use {1} processors; kernels long enough to be divided among "
                      "threads {2}",
                      counted(size_t(context.threads), "thread", "threads"), context.processors, shareText(shared, 2)),
        "--threads " + std::to_string(context.processors),
        shared * (1 - double(context.threads) / double(context.processors)));
  }

  void widerVectors() {
    if (context.hostVectorBytes <= context.vectorBytes || context.vectorBytes <= 0)
      return;
    Group group = floatKernels("compute");
    add("Compile for this machine",
        llvm::formatv("the code is for {0} with vectors of {1} bytes; this machine has vectors of {2} bytes",
                      context.target, context.vectorBytes, context.hostVectorBytes),
        "--target host", group.time * (1 - double(context.vectorBytes) / double(context.hostVectorBytes)));
  }

  void integers() {
    double floats = peak([](StringRef type) { return type == "f32"; }), ints = peak(isInteger);
    Group group = floatKernels("compute");
    if (context.quantized || ints < kFaster * floats || group.count == 0)
      return;
    add("Multiply in 8-bit integers",
        llvm::formatv("{0} in float32 under the compute roof {1}; integer multiplication is {2:f1} times as fast here",
                      counted(group.count, "kernel", "kernels"), shareText(group.time, group.count), ints / floats),
        "--quantize=int8 --calibrate FOLDER", group.time * (1 - floats / ints));
  }

  void fewerBits() {
    Group group;
    for (const json::Object &kernel : kernels)
      if (std::optional<double> bytes = kernel.getNumber("bytes"), constant = kernel.getNumber("constant_bytes");
          kernel.getString("multiplies").value_or("") == "f32" && kernel.getString("roof").value_or("") == "memory" &&
          bytes && constant && *constant > 0.5 * *bytes) {
        group.time += timeOf(kernel);
        ++group.count;
        group.bytes +=
            *constant * kernel.getNumber("launches_per_run").value_or(kernel.getNumber("launches").value_or(1));
        // Share of the weight bytes that remains with 8 instead of 32 bits per weight.
        constexpr double left = 0.25;
        group.saved += timeOf(kernel) * *constant / *bytes * (1 - left);
      }
    if (context.quantized || group.count == 0)
      return;
    add("Store weights with fewer bits",
        llvm::formatv("{0} under the memory roof {1}, reading {2:f1} MB of weights per run",
                      counted(group.count, "kernel", "kernels"), shareText(group.time, group.count), group.bytes / 1e6),
        "--quantize=int8", group.saved);
  }

  void sixteenBits() {
    double floats = peak([](StringRef type) { return type == "f32"; }),
           halves = peak([](StringRef type) { return type == "bf16"; });
    Group group = floatKernels("compute");
    if (context.rounds || context.quantized || halves < kFaster * floats || group.count == 0)
      return;
    add("Multiply in bfloat16",
        llvm::formatv("{0} in float32 under the compute roof {1}; bfloat16 multiplication is {2:f1} times as fast here",
                      counted(group.count, "kernel", "kernels"), shareText(group.time, group.count), halves / floats),
        "--float32-precision medium", group.time * (1 - floats / halves));
  }

  /// Returns the first remark about one of the kernel's nodes.
  std::string remarkOf(const json::Object &kernel) const {
    std::string text;
    const json::Object *explanation = record.getObject("explanation");
    eachObject(explanation ? *explanation : record, "remarks", [&](const json::Object &remark) {
      const json::Array *nodes = kernel.getArray("nodes");
      if (text.empty() && nodes && llvm::is_contained(*nodes, json::Value(remark.getString("node").value_or(""))))
        text = "; missed optimization: " + textOf(remark, "name").str() + ", " + textOf(remark, "reason").str();
    });
    return text;
  }

  void farthestKernel() {
    if (!measured)
      return;
    const json::Object *farthest = nullptr;
    double most = 0;
    for (const json::Object &kernel : kernels)
      if (std::optional<double> least = kernel.getNumber("least_milliseconds"))
        if (double over = timeOf(kernel) - *least; timeOf(kernel) > 2 * *least && over > most) {
          most = over;
          farthest = &kernel;
        }
    if (!farthest)
      return;
    std::string name = printable(farthest->getString("kernel").value_or(""));
    add("Examine " + name + ", the kernel with the most time above its roof",
        "it takes " + milliseconds(timeOf(*farthest)) + "; the roofline bound is " +
            milliseconds(farthest->getNumber("least_milliseconds").value_or(0)) + remarkOf(*farthest),
        "--remarks=remarks.json", most);
  }

  void betweenKernels() {
    const json::Object *run = record.getObject("fastest_run");
    double between = run ? run->getNumber("between_kernels_milliseconds").value_or(0) : 0;
    if (!measured || between < 2 * kWorth * total)
      return;
    add("Reduce the number of launches",
        llvm::formatv("{0} of {1} pass between kernels: control flow, runtime functions, and tracing {2} launches",
                      milliseconds(between), milliseconds(total), run->getInteger("launches").value_or(0)),
        "--remarks=remarks.json, which lists missed fusions", between);
  }

  std::optional<StringRef> assumedDim() const {
    const json::Array *assumed = record.getArray("assumed_dims");
    return assumed && !assumed->empty() ? assumed->front().getAsString() : std::nullopt;
  }

  void assumedDims() {
    if (std::optional<StringRef> dim = assumedDim())
      add("Set the sizes of the run", "the size of '" + dim->str() + "' is not given: the minimum was used",
          "--dim " + shellWord(dim->str() + "=8"), std::nullopt);
  }

  void openDims() {
    size_t open = 0;
    for (const json::Object &kernel : kernels)
      open += kernel.getString("flop_formula").has_value();
    if (!assumedDim() && open > 0 && (record.get("remarks") || record.getObject("explanation")))
      add("Bind dynamic dims to sizes that you know",
          counted(open, "kernel has", "kernels have") + " dynamic sizes, so that their code handles any size; "
                                                        "1,128,1..512 generates specialized code for the sizes 1 and "
                                                        "128",
          "--dim NAME=128", std::nullopt);
  }

  const json::Object &record;
  const std::vector<json::Object> &kernels;
  double total;
  const SuggestionContext &context;
  bool measured;
  std::vector<Suggestion> found;
};

} // namespace

std::vector<Suggestion> suggest(const json::Object &record, const std::vector<json::Object> &kernels, double total,
                                const SuggestionContext &context) {
  return Rules(record, kernels, total, context).all();
}

json::Array toJson(const std::vector<Suggestion> &suggestions) {
  json::Array list;
  for (const Suggestion &one : suggestions)
    list.push_back(
        json::Object{{"title", jsonText(one.title)},
                     {"evidence", jsonText(one.evidence)},
                     {"try", jsonText(one.flags)},
                     {"saves_at_most_milliseconds", one.atMost ? jsonNumber(*one.atMost) : json::Value(nullptr)}});
  return list;
}

SuggestionContext machineContext(const std::string &name, int threads) {
  SuggestionContext context;
  context.threads = threads;
  context.processors = int(llvm::hardware_concurrency().compute_thread_count());
  context.target = name;
  std::optional<codegen::TargetSpec> target = target::find(name), host = target::find("host");
  if (target && host && !target->device) {
    context.vectorBytes = target->vectorBytes;
    context.hostVectorBytes = host->vectorBytes;
  }
  return context;
}

} // namespace hewn::tool
