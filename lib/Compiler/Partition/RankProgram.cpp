// SPDX-License-Identifier: Apache-2.0
#include "lib/Compiler/Partition/RankProgram.h"
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "lib/Compiler/Explain/Explain.h"
#include "lib/Transforms/Partition/Sharding.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace hewn {

namespace {

/// Maximum number of steps of the search for a buffer placement with a small arena. A longer search
/// would make the arena smaller by a few percent at most.
constexpr int64_t kPackingSteps = 10'000;

class ProgramReader {
public:
  ProgramReader(ModuleOp module, const plan::Sample &sample)
      : table(module), program(module.lookupSymbol<func::FuncOp>(plan::kProgramName)), sample(sample),
        byEach(partition::findConstantOps(program.getBody().front(), /*andSizes=*/true)) {}

  RankProgram read() {
    for (Value input : program.getArguments())
      made.inputs += bytesOf(input);
    for (Operation &op : program.getBody().front().without_terminator())
      if (!isa<graph::ConstantOp>(op))
        readStep(&op);
    if (made.steps.empty())
      made.steps.emplace_back();
    readValues();
    readArena();
    return std::move(made);
  }

private:
  double bytesOf(Value value) { return double(plan::evaluate(plan::bufferBytes(value), sample)); }

  void readStep(Operation *op) {
    RankStep step;
    op->walk([&](Operation *inner) {
      if (auto launch = dyn_cast<plan::LaunchOp>(inner))
        addLaunch(launch, step);
      if (std::optional<graph::Transfer> transfer = graph::transferOf(inner)) {
        step.transfer = transfer->kind;
        step.sent += double(plan::evaluate(transfer->bytes, sample));
        for (int64_t i = 0; i < transfer->ranks.count; ++i) {
          double moved = double(plan::evaluate(graph::movedBytes(*transfer, transfer->ranks.first + i), sample));
          step.moved += i == 0 ? moved : 0;
          step.movedOfAll += moved;
        }
      }
      for (Value operand : inner->getOperands())
        if (auto constant = operand.getDefiningOp<graph::ConstantOp>()) {
          auto [found, isNew] = seen.try_emplace(constant.getValue(), seen.size());
          step.newConstants += isNew ? bytesOf(operand) : 0;
          step.reads.push_back({found->second, bytesOf(operand)});
        }
    });
    stepOf[op] = made.steps.size();
    made.steps.push_back(std::move(step));
  }

  void addLaunch(plan::LaunchOp launch, RankStep &step) {
    auto kernel = plan::findGraphKernel(table, launch.getKernel());
    std::optional<Work> work = kernel ? workOf(kernel, {launch}) : std::nullopt;
    if (!work)
      return;
    double times = double(launchesARun(launch).value_or(1)), constants = 0;
    for (Value operand : launch->getOperands())
      if (operand.getDefiningOp<graph::ConstantOp>())
        constants += bytesOf(operand);
    double bytes = double(plan::evaluate(work->bytes, sample));
    step.launches += times;
    step.flop += times * double(plan::evaluate(work->flop, sample));
    step.bytes += times * bytes;
    step.constants += times * std::min(constants, bytes);
    if (std::string type = multipliedType(kernel); !type.empty())
      step.multiplies = type;
  }

  /// Returns the index of the step that produces the value, or nullopt for an input or a constant.
  std::optional<size_t> makerOf(Value value) {
    Operation *op = value.getDefiningOp();
    auto found = op ? stepOf.find(program.getBody().front().findAncestorOpInBlock(*op)) : stepOf.end();
    return found == stepOf.end() ? std::nullopt : std::optional(found->second);
  }

  void readValues() {
    Block &block = program.getBody().front();
    for (auto &[op, step] : stepOf) {
      if (byEach.contains(op))
        continue;
      for (Value value : op->getResults()) {
        std::vector<size_t> readers;
        for (Operation *user : value.getUsers())
          if (auto found = stepOf.find(block.findAncestorOpInBlock(*user)); found != stepOf.end())
            readers.push_back(found->second);
        llvm::sort(readers);
        if (!readers.empty())
          made.values.push_back({bytesOf(value), step, std::move(readers)});
      }
    }
    for (Value result : block.getTerminator()->getOperands())
      if (std::optional<size_t> maker = makerOf(result); maker && !byEach.contains(result.getDefiningOp()))
        made.results.push_back({bytesOf(result), *maker});
  }

  void readArena() {
    plan::PlannedArena arena(program);
    plan::PlannedArena::Sized sized = arena.at(sample);
    // Converts lifetimes of buffers from positions of ops to numbers of steps, which have the same
    // order.
    for (auto [buffer, block] : llvm::zip_equal(arena.buffers(), sized.blocks))
      if (std::optional<size_t> maker = makerOf(buffer.value))
        begins.push_back({block.life.begin, *maker});
    llvm::sort(begins);
    auto stepAt = [&](unsigned position) {
      auto behind = llvm::upper_bound(begins, std::pair(position, SIZE_MAX));
      return behind == begins.begin() ? size_t(0) : std::prev(behind)->second;
    };
    for (const plan::ArenaBlock &block : sized.blocks)
      made.blocks.push_back({block.size, {unsigned(stepAt(block.life.begin)), unsigned(stepAt(block.life.end))}});
  }

  SymbolTable table;
  func::FuncOp program;
  const plan::Sample &sample;
  /// Ops that depend only on constants and sizes. Each pipeline stage computes these ops itself
  /// (takeStage), so their results are not transferred between stages.
  const llvm::DenseSet<Operation *> byEach;
  RankProgram made;
  llvm::DenseMap<Attribute, size_t> seen;
  llvm::MapVector<Operation *, size_t> stepOf;
  std::vector<std::pair<unsigned, size_t>> begins;
};

} // namespace

std::vector<int64_t> RankProgram::Value::readersBy(llvm::function_ref<int64_t(size_t)> stageOf) const {
  std::vector<int64_t> stages;
  for (size_t step : readers)
    stages.push_back(stageOf(step));
  stages.erase(llvm::unique(stages), stages.end());
  return stages;
}

std::vector<double> RankProgram::constantsUpTo() const {
  std::vector<double> sums;
  double total = 0;
  for (const RankStep &step : steps)
    sums.push_back(total += step.newConstants);
  return sums;
}

std::vector<double> RankProgram::crossing() const {
  std::vector<double> bytes(steps.size() + 1, 0);
  for (const Value &value : values) {
    bytes[value.from] += value.bytes;
    bytes[value.readers.back()] -= value.bytes;
  }
  for (size_t i = 1; i < bytes.size(); ++i)
    bytes[i] += bytes[i - 1];
  bytes.pop_back();
  return bytes;
}

double RankProgram::weightBytes(size_t first, size_t last) const {
  llvm::DenseSet<size_t> seen;
  double total = 0;
  for (size_t i = first; i <= last; ++i)
    for (auto [which, bytes] : steps[i].reads)
      total += seen.insert(which).second ? bytes : 0;
  return total;
}

double RankProgram::arenaBytes(size_t first, size_t last) const {
  std::vector<plan::ArenaBlock> own;
  for (const plan::ArenaBlock &block : blocks)
    if (block.life.begin <= last && block.life.end >= first)
      own.push_back({block.size, block.life});
  return double(plan::packBlocks(own, kPackingSteps));
}

RankProgram readRankProgram(ModuleOp module, const plan::Sample &sample) {
  return ProgramReader(module, sample).read();
}

} // namespace hewn
