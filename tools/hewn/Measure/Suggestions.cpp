// SPDX-License-Identifier: Apache-2.0
//
// A suggestion is a rule: figures of the record go in, and where they do not carry it there is none. What it can save is a bound by the
// roofline, never a promise.
#include "tools/hewn/Measure/Suggestions.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Target/Targets.h"
#include "tools/hewn/Measure/Roofline.h"
#include "tools/hewn/Record.h"
#include "tools/hewn/Subcommands.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Threading.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

namespace {

constexpr size_t kMost = 3;
/// Of a run: less is not worth a change.
constexpr double kWorth = 0.05;
/// A faster instruction that is hardly faster is no reason for other results.
constexpr double kFaster = 1.5;
/// A launch that is shorter than this many milliseconds is not worth a fork and join of threads, some microseconds.
constexpr double kWorthSharing = 0.02;

std::string milliseconds(double count) {
  return count < 0.1 ? llvm::formatv("{0:f1} µs", count * 1e3).str() : llvm::formatv("{0:f2} ms", count).str();
}
std::string percent(double part) { return llvm::formatv("{0:f0} %", 100 * part); }
/// "1 kernel is", "3 kernels are".
std::string counted(size_t count, StringRef one, StringRef several) {
  return std::to_string(count) + " " + (count == 1 ? one : several).str();
}

/// The rules, each of which looks at the record for itself.
class Rules {
public:
  Rules(const json::Object &record, const std::vector<json::Object> &kernels, double total,
        const SuggestionContext &context)
      : record(record), kernels(kernels), total(total), context(context),
        measured(!kernels.empty() && kernels.front().get("milliseconds")) {}

  std::vector<Suggestion> all() {
    if (context.naive)
      add("Compile with optimizations", "-O0 makes no fusions and no vectors", "without -O0", std::nullopt);
    moreThreads();
    widerVectors();
    integers();
    fewerBits();
    sixteenBits();
    farthestKernel();
    betweenKernels();
    openDims();
    llvm::stable_sort(
        found, [](const Suggestion &a, const Suggestion &b) { return a.atMost.value_or(0) > b.atMost.value_or(0); });
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
  /// "take 3.20 ms of 4.10 ms", or what they take at least.
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
  /// Contractions of float32 under one of the roofs.
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
        llvm::formatv(
            "it ran on {0}, and this process may use {1} processors; kernels that are long enough to share {2}",
            counted(size_t(context.threads), "thread", "threads"), context.processors, shareText(shared, 2)),
        "--threads " + std::to_string(context.processors),
        shared * (1 - double(context.threads) / double(context.processors)));
  }

  void widerVectors() {
    if (context.hostVectorBytes <= context.vectorBytes || context.vectorBytes <= 0)
      return;
    Group group = floatKernels("compute");
    add("Compile for this machine",
        llvm::formatv("the code is for {0}, whose vectors have {1} bytes; this machine has vectors of {2}",
                      context.target, context.vectorBytes, context.hostVectorBytes),
        "--target host", group.time * (1 - double(context.vectorBytes) / double(context.hostVectorBytes)));
  }

  void integers() {
    double floats = peak([](StringRef type) { return type == "f32"; }), ints = peak(isInteger);
    Group group = floatKernels("compute");
    if (context.quantized || ints < kFaster * floats || group.count == 0)
      return;
    add("Compute products on 8-bit integers",
        llvm::formatv("{0} of float32 under the compute roof {1}; products of integers are {2:f1} times as fast here",
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
        constexpr double left = 0.25; // of float32's bytes, with eight bits each
        group.saved += timeOf(kernel) * *constant / *bytes * (1 - left);
      }
    if (context.quantized || group.count == 0)
      return;
    add("Keep weights in fewer bits",
        llvm::formatv("{0} under the memory roof {1}, reading {2:f1} MB of weights in a run",
                      counted(group.count, "kernel", "kernels"), shareText(group.time, group.count), group.bytes / 1e6),
        "--quantize=int8", group.saved);
  }

  void sixteenBits() {
    double floats = peak([](StringRef type) { return type == "f32"; }),
           halves = peak([](StringRef type) { return type == "bf16"; });
    Group group = floatKernels("compute");
    if (context.rounds || context.quantized || halves < kFaster * floats || group.count == 0)
      return;
    add("Round products of float32 to bfloat16",
        llvm::formatv("{0} of float32 under the compute roof {1}; products of bfloat16 are {2:f1} times as fast here",
                      counted(group.count, "kernel", "kernels"), shareText(group.time, group.count), halves / floats),
        "--float32-precision medium", group.time * (1 - floats / halves));
  }

  /// What a remark says of one of the kernel's nodes.
  std::string remarkOf(const json::Object &kernel) const {
    std::string text;
    const json::Object *explanation = record.getObject("explanation");
    eachObject(explanation ? *explanation : record, "remarks", [&](const json::Object &remark) {
      const json::Array *nodes = kernel.getArray("nodes");
      if (text.empty() && nodes && llvm::is_contained(*nodes, json::Value(remark.getString("node").value_or(""))))
        text = "; left undone there: " + textOf(remark, "name").str() + ", " + textOf(remark, "reason").str();
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
    add("Look at " + name + ", the kernel with most time above its roof",
        "it takes " + milliseconds(timeOf(*farthest)) + ", and by the roofline could take " +
            milliseconds(farthest->getNumber("least_milliseconds").value_or(0)) + remarkOf(*farthest),
        "--remarks=remarks.json", most);
  }

  void betweenKernels() {
    const json::Object *run = record.getObject("fastest_run");
    double between = run ? run->getNumber("between_kernels_milliseconds").value_or(0) : 0;
    if (!measured || between < 2 * kWorth * total)
      return;
    add("Make fewer launches",
        llvm::formatv("{0} of {1} go by between kernels: control flow, parts of the runtime, and tracing {2} launches",
                      milliseconds(between), milliseconds(total), run->getInteger("launches").value_or(0)),
        "--remarks=remarks.json, which says what was not fused", between);
  }

  void openDims() {
    size_t open = 0;
    for (const json::Object &kernel : kernels)
      open += kernel.getString("flop_formula").has_value();
    std::string dim;
    if (const json::Array *assumed = record.getArray("assumed_dims"); assumed && !assumed->empty())
      dim = assumed->front().getAsString().value_or("").str();
    if (!dim.empty())
      add("Say the size that it runs on", "nothing says how long '" + dim + "' is: it was taken for the least",
          "--dim " + shellWord(dim + "=8"), std::nullopt);
    else if (open > 0 && (record.get("remarks") || record.getObject("explanation")))
      add("Bind open dims, where you know them",
          counted(open, "kernel has", "kernels have") + " sizes that are known only when run: their code is for any; "
                                                        "1,128,1..512 in place of one size gives the first two code of "
                                                        "their own",
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
  std::optional<codegen::MachineSpec> target = target::find(name), host = target::find("host");
  if (target && host && !target->device) {
    context.vectorBytes = target->vectorBytes;
    context.hostVectorBytes = host->vectorBytes;
  }
  return context;
}

} // namespace hewn::tool
