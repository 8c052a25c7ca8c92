// SPDX-License-Identifier: Apache-2.0
//
// Prints the result of `hewn explain --cluster` as text and as JSON (docs/reference/json.md).
#include "lib/Compiler/Partition/PartitionPlan.h"
#include "lib/Support/JsonWriter.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;

namespace hewn {

namespace {

/// Maximum number of rows in the printed table of partitions.
constexpr size_t kMostLines = 24;

std::string bytesText(double bytes) {
  for (auto [unit, size] : {std::pair("TB", 1e12), std::pair("GB", 1e9), std::pair("MB", 1e6), std::pair("kB", 1e3)})
    if (bytes >= size)
      return llvm::formatv("{0:f2} {1}", bytes / size, unit);
  return llvm::formatv("{0:f0} B", bytes);
}

std::string secondsText(double seconds) {
  if (seconds < 1e-3)
    return llvm::formatv("{0:f1} us", 1e6 * seconds);
  if (seconds < 1)
    return llvm::formatv("{0:f2} ms", 1e3 * seconds);
  return llvm::formatv("{0:f2} s", seconds);
}

std::string linkText(const Link &link) {
  return secondsText(link.latency) + " and " + bytesText(link.bandwidth) + "/s";
}

void printCluster(llvm::raw_ostream &os, const Cluster &cluster) {
  os << "cluster: " << cluster.name << ": " << cluster.nodes << (cluster.nodes == 1 ? " node" : " nodes") << " of "
     << cluster.devicesPerNode << (cluster.devicesPerNode == 1 ? " device" : " devices");
  if (cluster.devicesPerNode > 1)
    os << "; within a node " << linkText(cluster.within);
  if (cluster.nodes > 1)
    os << "; between nodes " << linkText(cluster.between);
  os << "\ndevice:";
  if (cluster.isMeasured)
    os << " measured on this machine with code for " << cluster.device.target << ":";
  for (const MachineRates::Rate &rate : cluster.device.rates)
    os << llvm::formatv(" {0} {1:f1} GFLOPS,", rate.type, rate.perSecond / 1e9);
  os << " memory " << bytesText(cluster.device.bandwidths.back().bytesPerSecond) << "/s; kernels reach "
     << llvm::formatv("{0:f0} %", 100 * cluster.efficiency);
  if (cluster.memory)
    os << "; " << bytesText(*cluster.memory) << " each";
  os << "\n";
}

double sumOf(const SplitCost &split, double StageCost::*part) {
  double sum = 0;
  for (const StageCost &stage : split.byStage)
    sum += stage.*part;
  return sum;
}

void printRow(llvm::raw_ostream &os, llvm::ArrayRef<std::string> cells) {
  for (const std::string &cell : cells)
    os << llvm::formatv(" {0,10}", cell);
}

void printSplits(llvm::raw_ostream &os, llvm::ArrayRef<SplitCost> splits) {
  printRow(os, {"tensor", "pipeline", "replicas", "run", "computing", "transfers", "runs/s", "memory", "moved"});
  os << "\n";
  for (const SplitCost &split : splits.take_front(kMostLines)) {
    printRow(os, {std::to_string(split.tensor), std::to_string(split.stages), std::to_string(split.replicas),
                  secondsText(split.seconds), secondsText(sumOf(split, &StageCost::computing)),
                  secondsText(sumOf(split, &StageCost::meeting)), llvm::formatv("{0:f1}", split.runsPerSecond()),
                  bytesText(split.memory()), bytesText(split.moved())});
    os << (split.problem.empty() ? "" : "  " + split.problem) << "\n";
  }
  if (splits.size() > kMostLines)
    os << "  and " << splits.size() - kMostLines << " more\n";
}

void printRanks(llvm::raw_ostream &os, const SplitCost &split) {
  printRow(os, {"ranks", "weights", "arena", "in/out", "computing", "transfers", "moved"});
  os << "\n";
  for (const StageCost &stage : split.byStage) {
    int64_t last = stage.first + stage.ranks - 1;
    printRow(os, {std::to_string(stage.first) + (stage.ranks > 1 ? ".." + std::to_string(last) : ""),
                  bytesText(stage.weights), bytesText(stage.arena), bytesText(stage.values),
                  secondsText(stage.computing), secondsText(stage.meeting), bytesText(stage.moved)});
    os << "\n";
  }
}

json::Object toJson(const Link &link) {
  return json::Object{{"latency", jsonNumber(link.latency)}, {"bandwidth", jsonNumber(link.bandwidth)}};
}

json::Object toJson(const StageCost &stage) {
  return json::Object{{"first_rank", stage.first},
                      {"ranks", stage.ranks},
                      {"weights_bytes", int64_t(stage.weights)},
                      {"arena_bytes", int64_t(stage.arena)},
                      {"inputs_and_outputs_bytes", int64_t(stage.values)},
                      {"computing_milliseconds", jsonNumber(1e3 * stage.computing)},
                      {"meeting_milliseconds", jsonNumber(1e3 * stage.meeting)},
                      {"moved_bytes", int64_t(stage.moved)}};
}

json::Object toJson(const SplitCost &split) {
  json::Array stages;
  for (const StageCost &stage : split.byStage)
    stages.push_back(toJson(stage));
  return json::Object{{"partition", split.name()},
                      {"tensor", split.tensor},
                      {"pipeline", split.stages},
                      {"replicas", split.replicas},
                      {"milliseconds", jsonNumber(1e3 * split.seconds)},
                      {"runs_per_second", jsonNumber(split.runsPerSecond())},
                      {"memory_bytes", int64_t(split.memory())},
                      {"moved_bytes", int64_t(split.moved())},
                      {"sums_by", split.way.empty() ? json::Value(nullptr) : json::Value(split.way)},
                      {"problem", split.problem.empty() ? json::Value(nullptr) : json::Value(split.problem)},
                      {"stages", std::move(stages)}};
}

} // namespace

std::string PartitionPlan::text() const {
  const SplitCost &best = splits.front();
  std::string text;
  llvm::raw_string_ostream os(text);
  printCluster(os, cluster);
  for (const auto &[name, size] : assumed)
    os << "assumed: " << name << "=" << size << "\n";
  os << "best: " << best.name() << ", on " << best.tensor * best.stages << " ranks, " << best.replicas
     << (best.replicas == 1 ? " replica: " : " replicas: ") << secondsText(best.seconds) << " per run\n";
  os << "why: " << why << "\n";
  if (!best.way.empty())
    os << "all-reduce: " << best.way << "\n";
  os << "by rank:\n";
  printRanks(os, best);
  os << "partitions:\n";
  printSplits(os, splits);
  return text;
}

json::Object PartitionPlan::json() const {
  json::Array all;
  for (const SplitCost &split : splits)
    all.push_back(toJson(split));
  json::Object rates, dims;
  for (const MachineRates::Rate &rate : cluster.device.rates)
    rates[rate.type] = jsonNumber(rate.perSecond);
  for (const auto &[name, size] : assumed)
    dims[json::isUTF8(name) ? name : json::fixUTF8(name)] = size;
  json::Object device{{"measured", cluster.isMeasured},
                      {"rates", std::move(rates)},
                      {"bandwidth", jsonNumber(cluster.device.bandwidths.back().bytesPerSecond)},
                      {"efficiency", jsonNumber(cluster.efficiency)},
                      {"launch", jsonNumber(cluster.launch)},
                      {"memory", cluster.memory ? jsonNumber(*cluster.memory) : json::Value(nullptr)}};
  return json::Object{{"cluster", json::Object{{"file", jsonText(cluster.name)},
                                               {"nodes", cluster.nodes},
                                               {"devices_per_node", cluster.devicesPerNode},
                                               {"within", toJson(cluster.within)},
                                               {"between", toJson(cluster.between)},
                                               {"device", std::move(device)},
                                               {"goal", cluster.wantsThroughput ? "throughput" : "latency"}}},
                      {"assumed_dims", std::move(dims)},
                      {"why", why},
                      {"best", splits.front().name()},
                      {"ways", std::move(all)}};
}

} // namespace hewn
