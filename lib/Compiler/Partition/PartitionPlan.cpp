// SPDX-License-Identifier: Apache-2.0
//
// Estimates the cost of partitions. For each number of tensor-parallel ranks, the model is compiled
// once up to its plan, for the first rank. The programs of the other ranks are assumed to cost the
// same: they have other constants and, with spatial sharding, other padding, and two neighbours
// instead of one unless the rank is the first or the last. Pipeline stages are ranges of steps of
// this program. The function that divides them is the one that the partition pass uses.
#include "lib/Compiler/Partition/PartitionPlan.h"
#include "lib/Compiler/Partition/RankProgram.h"
#include "lib/Compiler/Stages/Stages.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Partition/Stages.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace hewn {

double SplitCost::memory() const {
  double most = 0;
  for (const StageCost &stage : byStage)
    most = std::max(most, stage.memory());
  return most;
}

double SplitCost::moved() const {
  double all = 0;
  for (const StageCost &stage : byStage)
    all += stage.movedOfAll;
  return all;
}

std::string SplitCost::name() const { return PartitionShape{tensor, stages}.text(); }

namespace {

/// If the costs of two partitions differ by less than this ratio, the one with fewer ranks is
/// preferred.
constexpr double kAlike = 0.02;

class Planner {
public:
  Planner(const Request &request, Diagnostics &diagnostics, PartitionPlan &plan)
      : session(request.options, diagnostics, /*wantsRemarks=*/false), request(request), plan(plan),
        cluster(plan.cluster) {}

  bool run() {
    if (!import())
      return false;
    for (int64_t tensor : tensors()) {
      RankProgram program;
      if (!compileFor(tensor, program))
        return false;
      for (int64_t stages : stagesBeside(tensor, int64_t(program.steps.size())))
        plan.splits.push_back(costOf(program, tensor, stages));
    }
    return choose();
  }

private:
  bool import() {
    importer::ImportOptions options = request.importOptions();
    options.namesOnly = true;
    importer::Cases cases = importer::importModel(session.context, options, session.weights(), session.diagnostics);
    auto first = llvm::find_if(cases.list, [](const importer::Case &one) { return bool(one.module); });
    if (first == cases.list.end()) {
      if (!session.diagnostics.hasErrors())
        session.diagnostics.error("the model can't be read");
      return false;
    }
    if (cases.list.size() > 1)
      session.diagnostics.warning("--cluster: of " + std::to_string(cases.list.size()) + " programs, the one with " +
                                  first->condition() + " is considered");
    module = std::move(first->module);
    isOfHandles = hasHandles(*module);
    return true;
  }

  static SmallVector<int64_t> divisors(int64_t number, int64_t most) {
    SmallVector<int64_t> found;
    for (int64_t one = 1; one <= std::min(number, most); ++one)
      if (number % one == 0)
        found.push_back(one);
    return found;
  }

  SmallVector<int64_t> tensors() const {
    return request.partition.isAuto ? divisors(cluster.devices(), kMostRanks)
                                    : SmallVector<int64_t>{request.partition.tensor};
  }

  SmallVector<int64_t> stagesBeside(int64_t tensor, int64_t steps) const {
    if (!request.partition.isAuto)
      return {request.partition.stages};
    return divisors(cluster.devices() / tensor, std::min(steps, kMostRanks / tensor));
  }

  /// Compiles the program of the first of `tensor` ranks up to its plan.
  bool compileFor(int64_t tensor, RankProgram &program) {
    OwningOpRef<ModuleOp> own = module->clone();
    PipelineOptions options = pipelineOptions(request);
    options.tensorRanks = tensor;
    options.lines = request.partition.lines;
    // an explicit number of ranks is compiled in the same way for any cluster, so no costs are
    // passed
    if (request.partition.isAuto)
      options.rowCosts = rowCosts(cluster, tensor);
    setTarget(*own, request.machines.front(), request.precision);
    PassManager pm(&session.context);
    buildGraphStage(pm, options);
    bool isGood = succeeded(pm.run(*own));
    if (isGood)
      notInStages = partition::whyNotInStages((*own->getOps<func::FuncOp>().begin()).getBody().front());
    PassManager rest(&session.context);
    buildKernelsStage(rest, options);
    buildPlanStage(rest, options);
    if (!isGood || failed(rest.run(*own))) {
      if (!session.diagnostics.hasErrors())
        session.diagnostics.error("internal error while planning a partition");
      return false;
    }
    auto main = own->lookupSymbol<func::FuncOp>(plan::kProgramName);
    std::vector<plan::Sample> samples = plan::samplesOf(main);
    if (!sizesFit(main, samples.front())) {
      session.diagnostics.error(
          "--cluster: sizes with the least dims that the model allows exceed 64 bits; set others with --dim");
      return false;
    }
    program = readRankProgram(*own, samples.front());
    if (plan.assumed.empty())
      for (const auto &[name, size] : samples.front())
        plan.assumed.push_back({name.str(), size});
    return true;
  }

  static bool sizesFit(func::FuncOp main, const plan::Sample &sample) {
    constexpr double most = double(int64_t(1) << 62);
    bool fit = plan::PlannedArena(main).fits(sample);
    main.walk([&](Operation *op) {
      for (Value value : op->getOperands())
        if (isa<RankedTensorType>(value.getType()))
          fit &= plan::boundOf(plan::bufferBytes(value), sample) < most;
    });
    return fit;
  }

  /// Returns the seconds that the kernels of a step take by a roofline model (Williams, Waterman,
  /// Patterson: CACM 2009), with the fraction of the peak rates that kernels reach. `constants` is
  /// the size of all constants of the rank. It selects the bandwidth for reading constants: a run
  /// reads each constant once, so constants stay in a cache only if all of them fit.
  double computing(const RankStep &step, double constants) const {
    const MachineRates &rates = cluster.device;
    double rate = cluster.rateOf(step.multiplies, /*rounds=*/request.precision != Precision::Highest);
    double moving = 0;
    if (step.constants > 0)
      moving += step.constants / rates.bandwidthOf(std::max(constants, 1.0));
    if (double others = step.bytes - step.constants; others > 0)
      moving += others / rates.bandwidthOf(others / std::max(step.launches, 1.0));
    return step.launches * cluster.launch + std::max(step.flop / rate, moving) / cluster.efficiency;
  }

  SplitCost costOf(const RankProgram &program, int64_t tensor, int64_t stages) {
    SplitCost split;
    split.tensor = tensor;
    split.stages = stages;
    split.replicas = cluster.devices() / (tensor * stages);
    split.byStage.resize(size_t(stages));
    if (split.problem = whyNotSplit(program, split); !split.problem.empty())
      return split;
    std::vector<double> constants = program.constantsUpTo(), crossing = program.crossing();
    SmallVector<size_t> ends = partition::divideStages(constants, crossing, stages);
    ends.push_back(program.steps.size() - 1);
    const RankGroup group = cluster.group(tensor);
    double slowest = 0;
    for (int64_t s = 0; s < stages; ++s) {
      size_t first = s ? ends[size_t(s) - 1] + 1 : 0, last = ends[size_t(s)];
      StageCost &stage = split.byStage[size_t(s)];
      stage.first = s * tensor;
      stage.ranks = tensor;
      stage.weights = program.weightBytes(first, last);
      stage.arena = program.arenaBytes(first, last);
      stage.values = program.inputs;
      for (size_t i = first; i <= last; ++i)
        addStep(program.steps[i], group, stage, split, slowest);
    }
    addMessages(program, ends, split);
    for (const StageCost &stage : split.byStage)
      split.seconds += stage.computing + stage.meeting;
    split.problem = problemOf(split);
    return split;
  }

  void addStep(const RankStep &step, const RankGroup &group, StageCost &stage, SplitCost &split, double &slowest) {
    stage.computing += computing(step, stage.weights);
    if (!step.transfer)
      return;
    if (*step.transfer == graph::Transfer::Send || *step.transfer == graph::Transfer::Receive) {
      stage.meeting += cluster.link(0, 1).messageSeconds(step.sent);
      stage.moved += step.moved;
      // With spatial sharding, the first rank exchanges data with one neighbour; all others except
      // the last have two.
      stage.movedOfAll += step.movedOfAll * 2 * double(split.tensor - 1);
      return;
    }
    bool scatters = *step.transfer == graph::Transfer::Scatter,
         adds = scatters || *step.transfer == graph::Transfer::Sum;
    LinkCost cost = scatters ? scatterCost(group, step.sent)
                    : adds   ? sumCost(group, step.sent)
                             : gatherCost(group, step.sent);
    stage.meeting += cost.seconds;
    stage.moved += step.moved;
    stage.movedOfAll += step.movedOfAll;
    if (adds && cost.seconds > slowest) {
      slowest = cost.seconds;
      split.way = cost.way.str();
    }
  }

  /// Adds the costs of the messages that transfer values from stage to stage, and the model's
  /// results to all ranks. The cost of a message is added to the receiving stage.
  void addMessages(const RankProgram &program, ArrayRef<size_t> ends, SplitCost &split) {
    auto stageOf = [&](size_t step) { return int64_t(llvm::lower_bound(ends, step) - ends.begin()); };
    auto hand = [&](double bytes, int64_t from, int64_t to) {
      StageCost &receiver = split.byStage[size_t(to)];
      receiver.meeting += cluster.link(from * split.tensor, to * split.tensor).messageSeconds(bytes);
      receiver.moved += bytes;
      receiver.movedOfAll += bytes * double(split.tensor);
    };
    for (const RankProgram::Value &value : program.values)
      for (int64_t s : value.readersBy(stageOf))
        if (s != stageOf(value.from))
          hand(value.bytes, stageOf(value.from), s);
    for (const RankProgram::Value &result : program.results)
      for (int64_t s = 0; s < split.stages; ++s) {
        split.byStage[size_t(s)].values += result.bytes;
        if (s != stageOf(result.from))
          hand(result.bytes, stageOf(result.from), s);
      }
  }

  std::string whyNotSplit(const RankProgram &program, const SplitCost &split) const {
    if (isOfHandles && split.tensor * split.stages > 1)
      return "has strings, sequences or optional values, which ranks cannot transfer";
    if (split.stages > int64_t(program.steps.size()))
      return "has too few ops for " + std::to_string(split.stages) + " stages";
    return split.stages > 1 ? notInStages : "";
  }

  std::string problemOf(const SplitCost &split) const {
    if (split.replicas < 1)
      return llvm::formatv("needs {0} devices, but there are {1}", split.tensor * split.stages, cluster.devices());
    if (cluster.memory && split.memory() > *cluster.memory)
      return llvm::formatv("needs {0:f3} GB per rank, but a device has {1:f3}", split.memory() / 1e9,
                           *cluster.memory / 1e9);
    return "";
  }

  /// Returns the cost of a partition that the search minimizes: the time of a run or, if throughput
  /// is optimized, the reciprocal of the runs per second of all replicas.
  double priceOf(const SplitCost &split) const {
    return cluster.wantsThroughput ? 1 / split.runsPerSecond() : split.seconds;
  }

  bool choose() {
    std::vector<SplitCost> &splits = plan.splits;
    auto keyOf = [&](const SplitCost &split) {
      return std::tuple(!split.problem.empty(), priceOf(split), split.tensor, split.stages);
    };
    llvm::sort(splits, [&](const SplitCost &a, const SplitCost &b) { return keyOf(a) < keyOf(b); });
    size_t good = size_t(llvm::count_if(splits, [](const SplitCost &split) { return split.problem.empty(); }));
    if (good == 0) {
      session.diagnostics.error("--partition: no feasible partition of the model over '" + cluster.name +
                                "': " + splits.front().name() + " " + splits.front().problem +
                                (splits.size() > 1 ? "; the others are not feasible either" : ""));
      return false;
    }
    size_t best = 0;
    for (size_t i = 1; i < good; ++i)
      if (priceOf(splits[i]) <= (1 + kAlike) * priceOf(splits.front()) &&
          splits[i].tensor * splits[i].stages < splits[best].tensor * splits[best].stages)
        best = i;
    std::rotate(splits.begin(), splits.begin() + ptrdiff_t(best), splits.begin() + ptrdiff_t(best) + 1);
    plan.why = whyBest(good);
    return true;
  }

  std::string whyBest(size_t good) const {
    const std::vector<SplitCost> &splits = plan.splits;
    std::string why = llvm::formatv("{1} of {0} partitions are feasible", splits.size(), good);
    const char *quality = cluster.wantsThroughput ? "has the most runs per second" : "has the shortest run";
    if (good == 1)
      return why + ", this one";
    double next = priceOf(splits[1]) / priceOf(splits[0]);
    // the comparison of costs is negated so that it is also true for the NaN of two partitions that
    // take no time
    if (!(next >= 1 + kAlike))
      return why +
             llvm::formatv("; this one is within {0:f0} % of the best and has the fewest ranks", 100 * kAlike).str();
    return why + llvm::formatv("; this one {0}; {1} is next, at {2:f2} times its cost", quality, splits[1].name(), next)
                     .str();
  }

  /// A session of its own: its weights are names without bytes.
  Session session;
  const Request &request;
  PartitionPlan &plan;
  const Cluster &cluster;
  OwningOpRef<ModuleOp> module;
  /// The reason why the model cannot be divided into stages, or empty if it can.
  std::string notInStages;
  bool isOfHandles = false;
};

} // namespace

std::shared_ptr<const partition::RowCosts> rowCosts(const Cluster &cluster, int64_t tensor) {
  const RankGroup group = cluster.group(tensor);
  double ranks = double(tensor);
  auto costs = std::make_shared<partition::RowCosts>();
  costs->sum = [=](double bytes) { return ranks * sumCost(group, bytes).seconds; };
  costs->scatter = [=](double bytes) { return ranks * scatterCost(group, bytes).seconds; };
  costs->gather = [=](double bytes) { return ranks * gatherCost(group, bytes / ranks).seconds; };
  costs->ownByte = 1 / (cluster.device.bandwidths.back().bytesPerSecond * cluster.efficiency);
  return costs;
}

std::optional<PartitionPlan> planPartition(const Request &request, Diagnostics &diagnostics) {
  std::optional<Cluster> cluster = readCluster(request.options.cluster, request.machines.front().name, diagnostics);
  if (!cluster)
    return std::nullopt;
  PartitionPlan plan;
  plan.cluster = std::move(*cluster);
  if (!Planner(request, diagnostics, plan).run())
    return std::nullopt;
  if (!plan.assumed.empty()) {
    std::string dims;
    for (const auto &[name, size] : plan.assumed)
      dims += (dims.empty() ? "" : ", ") + name + "=" + std::to_string(size);
    diagnostics.warning("--cluster: dynamic dims are assumed to have the least size that the model allows: " + dims +
                        "; set others with --dim");
  }
  return plan;
}

} // namespace hewn
