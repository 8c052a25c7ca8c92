// SPDX-License-Identifier: Apache-2.0
#include "lib/Tools/Profile/ProfileRecord.h"
#include "lib/Support/JsonWriter.h"
#include "lib/Support/Printable.h"
#include "lib/Tools/Models/Record.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;
using llvm::StringRef;

namespace hewn::tool {

/// Returns the record of a kernel: its time, and its description in the compiler's explanation.
static json::Object recordOf(const KernelShare &share, const Profile &profile, const std::string &target) {
  json::Object kernel{{"kernel", jsonText(share.name)},
                      {"milliseconds", share.microseconds / 1e3},
                      {"share", jsonNumber(share.microseconds / profile.run.total)},
                      {"launches", share.launches}};
  const json::Object *explanation = profile.explanation.getAsObject();
  const json::Object *explained =
      explanation ? explainedKernel(*explanation, target, share.name, profile.rank) : nullptr;
  for (StringRef key : {"nodes", "launch_nodes", "why", "schedule", "flop", "bytes", "flop_formula", "bytes_formula",
                        "constant_bytes", "multiplies"}) {
    const json::Value *value = explained ? explained->get(key) : nullptr;
    kernel[key] = value ? *value : json::Value(nullptr);
  }
  bindWork(kernel, profile.measurement.inputs->dims);
  profile.roofline.addLeastTime(kernel, share.launches);
  auto counted = profile.counts.find(share.name);
  kernel["counters"] = nullptr;
  if (counted != profile.counts.end() && profile.countedRuns > 0) {
    auto aRun = [&](uint64_t count) { return int64_t(count / uint64_t(profile.countedRuns)); };
    kernel["counters"] = json::Object{{"cycles", aRun(counted->second.cycles)},
                                      {"instructions", aRun(counted->second.instructions)},
                                      {"cache_misses", aRun(counted->second.cacheMisses)}};
  }
  return kernel;
}

/// Returns the fraction of the duration of the run in which threads are busy, averaged over the
/// threads, or null if the tasks are not traced.
static json::Value busyShare(const TracedRun &run, int threads) {
  double busy = 0;
  for (size_t lane = 0; lane < run.tasks.size(); ++lane)
    for (const Slice &task : run.tasks[lane])
      busy += task.duration;
  if (threads <= 1 || busy == 0)
    return nullptr;
  // A kernel launch that is not divided into tasks keeps only one thread busy, the one that runs
  // the model.
  size_t next = 0;
  const std::vector<Slice> &own = run.tasks.front();
  for (const Slice &launch : run.launches) {
    while (next < own.size() && own[next].begin < launch.begin)
      ++next;
    if (next == own.size() || own[next].begin > launch.end())
      busy += launch.duration;
  }
  return jsonNumber(busy / (double(threads) * run.total));
}

json::Object profileRecord(const Profile &profile, const SuggestionContext &context) {
  const TracedRun &run = profile.run;
  json::Object record = profile.measurement.record();
  profile.roofline.addTo(record);
  std::vector<json::Object> kernels;
  json::Array listed;
  for (const KernelShare &share : sharesOf(run)) {
    kernels.push_back(recordOf(share, profile, profile.measurement.target));
    listed.push_back(json::Object(kernels.back()));
  }
  record["fastest_run"] = json::Object{{"milliseconds", run.total / 1e3},
                                       {"launches", int64_t(run.launches.size())},
                                       {"on_device", run.onDevice},
                                       {"between_kernels_milliseconds", outsideOf(run) / 1e3},
                                       {"busy_share", busyShare(run, profile.measurement.threads)},
                                       {"kernels", std::move(listed)}};
  record["counted_runs"] = profile.countedRuns;
  record["counters_unavailable"] = profile.uncounted.empty() ? json::Value(nullptr) : jsonText(profile.uncounted);
  record["explanation"] = profile.explanation;
  record["suggestions"] = toJson(suggest(record, kernels, run.total / 1e3, context));
  return record;
}

void addRanks(json::Object &record, const std::vector<RankRun> &ranks, int shown) {
  json::Array all;
  for (const RankRun &of : ranks)
    all.push_back(rankRecord(of));
  json::Object &run = *record.getObject("fastest_run");
  run["rank"] = shown;
  for (StringRef key : {"transfer_milliseconds", "waited_milliseconds", "moved_bytes", "transfers"})
    run[key] = *all[size_t(shown)].getAsObject()->get(key);
  record["ranks"] = std::move(all);
}

static const json::Object *kernelNamed(const json::Object &record, StringRef name) {
  const json::Object *found = nullptr;
  if (const json::Object *run = record.getObject("fastest_run"))
    eachObject(*run, "kernels", [&](const json::Object &kernel) {
      if (kernel.getString("kernel").value_or("") == name)
        found = &kernel;
    });
  return found;
}

json::Array nodesOfLaunch(const json::Object &kernel, size_t number) {
  const json::Array *each = kernel.getArray("launch_nodes"), *all = kernel.getArray("nodes");
  if (each && number < each->size() && each->size() == size_t(kernel.getInteger("launches").value_or(-1)))
    if (const json::Array *own = (*each)[number].getAsArray())
      return *own;
  return all ? *all : json::Array();
}

json::Object traceArguments(const json::Object &record, StringRef name, size_t number) {
  json::Object arguments;
  const json::Object *kernel = kernelNamed(record, name);
  if (!kernel)
    return arguments;
  if (json::Array nodes = nodesOfLaunch(*kernel, number); !nodes.empty())
    arguments["nodes"] = std::move(nodes);
  for (StringRef key : {"flop", "bytes", "multiplies", "why"})
    if (const json::Value *value = kernel->get(key); value && value->kind() != json::Value::Null)
      arguments[key] = *value;
  return arguments;
}

std::string profileText(const json::Object &record) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const json::Object &run = *record.getObject("fastest_run");
  const bool isCounted = record.getInteger("counted_runs").value_or(0) > 0;
  double total = run.getNumber("milliseconds").value_or(0);
  auto line = [&](double time, const std::string &launches, const json::Object *counters, const std::string &name) {
    os << llvm::format("%10.4f %5.1f%% %8s ", time, 100 * time / total, launches.c_str());
    if (isCounted && counters) {
      double cycles = counters->getNumber("cycles").value_or(0);
      os << llvm::format("%5.2f %10.0f ", counters->getNumber("instructions").value_or(0) / std::max(cycles, 1.0),
                         counters->getNumber("cache_misses").value_or(0));
    } else if (isCounted) {
      os << llvm::format("%5s %10s ", "", "");
    }
    os << " " << name << "\n";
  };
  os << llvm::format("%10s %6s %8s ", "ms", "share", "launches");
  if (isCounted)
    os << llvm::format("%5s %10s ", "ipc", "misses");
  os << " kernel\n";
  eachObject(run, "kernels", [&](const json::Object &kernel) {
    line(kernel.getNumber("milliseconds").value_or(0), std::to_string(kernel.getInteger("launches").value_or(0)),
         kernel.getObject("counters"), printable(kernel.getString("kernel").value_or("")));
  });
  const json::Array *ranks = record.getArray("ranks");
  if (ranks) {
    int64_t times = 0;
    eachObject(run, "transfers",
               [&](const json::Object &transfer) { times += transfer.getInteger("times").value_or(0); });
    line(numberOf(run, "transfer_milliseconds"), std::to_string(times), nullptr, "with other ranks");
  }
  line(run.getNumber("between_kernels_milliseconds").value_or(0), "", nullptr,
       run.getBoolean("on_device").value_or(false) ? "between kernels: copies, launches, host code, tracing"
                                                   : "between kernels: control flow, runtime functions, tracing");
  line(total, std::to_string(run.getInteger("launches").value_or(0)), nullptr,
       ranks ? "the fastest run, on rank " + std::to_string(run.getInteger("rank").value_or(0)) : "the fastest run");
  if (ranks)
    os << "\n" << transfersText(*ranks);
  if (std::optional<StringRef> why = record.getString("counters_unavailable"))
    os << "no hardware counters: " << *why << "\n";
  return text;
}

} // namespace hewn::tool
