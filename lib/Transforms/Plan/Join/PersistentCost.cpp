// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Join/PersistentCost.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Transforms/Plan/Join/Handover.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include <limits>

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

/// Factor of the time of work that is a phase of a persistent kernel. Its thread blocks get equal
/// numbers of tasks but need unequal time, and the slowest block delays all at the barrier.
static constexpr double kPhaseOverhead = 1.1;

/// Returns the value of a symbolic expression if each symbol has the size kTypicalSize.
static double typical(const DimExpr &expr) {
  return double(expr.substitute([](StringRef) { return DimExpr(kTypicalSize); }).constant().value_or(0));
}

/// Returns the value of an expression over the symbols of a launched kernel, if each symbol of the
/// program has the size kTypicalSize.
static double typical(const DimExpr &expr, GpuLaunchAttr info, LaunchOp launch) {
  return typical(atLaunch(expr, info.getSymbols(), launch).value_or(expr));
}

std::optional<unsigned> keptOperand(LaunchOp launch) {
  GpuLaunchAttr info = gpuLaunchOf(entryOf(launch));
  if (!info || info.getKeptBytes() == 0 || !graph::countedLoopOf(launch->getParentOp()) ||
      info.getKeeps() >= int64_t(launch.getInputs().size()) ||
      !launch.getInputs()[unsigned(info.getKeeps())].getDefiningOp<graph::ConstantOp>())
    return std::nullopt;
  return unsigned(info.getKeeps());
}

/// Returns the trip count of a counted loop, or kTypicalSize if it is dynamic.
static double tripsOf(Operation *op) {
  graph::ControlOpInterface loop = graph::loopOf(op);
  return loop ? typical(loop.getNumSteps().value_or(DimExpr(kTypicalSize))) : 1;
}

void DeviceWork::addLaunch(LaunchOp launch, double times) {
  Part part;
  part.times = times;
  KernelNeeds needs = needsOf(entryOf(launch));
  part.work = {0, 0, 1, needs.threads, needs.sharedBytes};
  GpuLaunchAttr info = gpuLaunchOf(entryOf(launch));
  if (info) {
    part.work.multiply =
        typical(info.getWork(), info, launch) / double(gpu.getProcessors() * gpu.getCosts().getMmaProductsPerCycle());
    part.work.bytes = typical(info.getTraffic(), info, launch);
    part.work.blocks = std::max(typical(info.getBlocks().value_or(DimExpr(0)), info, launch), 1.0);
    part.hasTiles = info.getRegisters() > 0;
  }
  part.besideKept = part.work;
  int64_t together = std::max<int64_t>(blocksAtOnce(needs, gpu), 1);
  alone += times * (double(gpu.getCosts().getLaunchCycles() + gpu.getCosts().getBlockOverheadCycles()) +
                    part.work.cycles(gpu, together, /*shared=*/false));
  count += times;
  if (std::optional<unsigned> kept = keptOperand(launch)) {
    // Resident weights are loaded once, before the first step. In each step, a block reads its
    // share from shared memory.
    part.besideKept.bytes -= typical(bufferBytes(launch.getInputs()[*kept]));
    part.readsKept = double(info.getKeptBytes()) / double(gpu.getCosts().getSharedBytesPerCycle());
  }
  parts.push_back(part);
  largest = largest.with(needs);
}

/// Adds the cost of copies that the host starts between launches. A persistent kernel does not need
/// these copies.
void DeviceWork::addCopies(double number, double times) {
  alone += times * number * (double(gpu.getCosts().getLaunchCycles() + gpu.getCosts().getBlockOverheadCycles()));
  count += times * number;
}

/// Adds the cost of copying loop-carried values after each step inside of a persistent kernel. If
/// the host runs the loop, these copies do not occur.
void DeviceWork::addHandover(graph::ControlOpInterface loop, double times) {
  constexpr double readAndWritten = 2, blockBytes = 1024;
  constexpr int64_t threads = 256;
  double bytes = 0;
  for (auto [i, state] : llvm::enumerate(loop.getCarriedValues()))
    if (handover(loop, unsigned(i)) == Handover::Copy)
      bytes += readAndWritten * typical(bufferBytes(state.result));
  if (bytes == 0)
    return;
  Part part;
  part.times = times;
  part.work = part.besideKept = {0, bytes, std::max(bytes / blockBytes, 1.0), threads, 0};
  parts.push_back(part);
}

void DeviceWork::add(Operation *op, double times) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return addLaunch(launch, times);
  times *= tripsOf(op);
  if (isa<CopyOp>(op))
    addCopies(1, times);
  if (graph::ControlOpInterface loop = graph::countedLoopOf(op)) {
    addCopies(double(loop.getCarriedValues().size()), times);
    addHandover(loop, times);
  }
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      add(&inner, times);
}

DeviceWork::DeviceWork(Operation *op, GpuAttr gpu) : gpu(gpu) {
  add(op, 1);
  int64_t kept = 0;
  llvm::DenseSet<Attribute> keeping;
  op->walk([&](LaunchOp launch) {
    if (!keptOperand(launch) || !keeping.insert(launch.getKernelAttr()).second)
      return;
    int64_t own = gpuLaunchOf(entryOf(launch)).getKeptBytes();
    kept += kept + own > gpu.getSharedBytes() - kSharedBesideKept ? 0 : own;
  });
  largest.sharedBytes += kept;
}

double DeviceWork::joined(const KernelNeeds &persistent) const {
  int64_t together = blocksAtOnce(persistent, gpu);
  double cycles = 0;
  for (const Part &part : parts) {
    if (together < 1)
      return std::numeric_limits<double>::infinity();
    double work = std::max(part.besideKept.cycles(gpu, together, /*shared=*/true), part.readsKept);
    GpuCostsAttr costs = gpu.getCosts();
    int64_t beside = costs.getGridBarrierCycles() + costs.getBlockOverheadCycles() +
                     (part.hasTiles ? costs.getPersistentMmaCycles() : 0);
    cycles += part.times * (double(beside) + kPhaseOverhead * work);
  }
  return cycles;
}

static StringRef whyLaunchNotJoined(LaunchOp launch) {
  GpuLaunchAttr info = gpuLaunchOf(entryOf(launch));
  if (!info || !info.getBlocks())
    return "not merged into a persistent kernel: its kernel is not a GPU kernel";
  if (info.getAlone())
    return "not merged into a persistent kernel: its kernel uses warpgroups";
  if (info.getSharedBytes() > 0 || info.getBoxes())
    return "not merged into a persistent kernel: its launch needs dynamic shared memory or TMA descriptors";
  return "";
}

StringRef whyNotJoined(Operation *op) {
  if (op->getNumRegions() == 0 && (isa<graph::ConstantOp, graph::YieldOp>(op) || graph::isViewKind(op)))
    return "";
  for (Value result : op->getResults())
    if (BufferAttr place = placeOf(result); place && place.getKind() == BufferKind::Dynamic)
      return "not merged into a persistent kernel: a result has a dynamic size";
  if (auto launch = dyn_cast<LaunchOp>(op))
    return whyLaunchNotJoined(launch);
  graph::ControlOpInterface loop = graph::countedLoopOf(op);
  if (!loop || loop.getControlValues().inductionVariable)
    return "not merged into a persistent kernel: the host executes part of it";
  for (auto [i, state] : llvm::enumerate(loop.getCarriedValues())) {
    if (!handover(loop, unsigned(i)))
      return "not merged into a persistent kernel: the host has to copy a loop-carried value";
    if (graph::getDims(state.argument) != graph::getDims(state.initial))
      return "not merged into a persistent kernel: the loop body uses its own symbols for sizes";
  }
  for (const graph::SlicedValue &sliced : loop.getSlicedValues())
    if (graph::getDims(sliced.slice) != graph::Dims(llvm::drop_begin(graph::getDims(sliced.sequence))))
      return "not merged into a persistent kernel: the loop body uses its own symbols for sizes";
  for (Operation &inner : loop.getLoopBody())
    if (StringRef why = whyNotJoined(&inner); !why.empty())
      return why;
  // If a slice that a loop yields is not written directly into the stacked result, it has to be
  // copied there, which a persistent kernel does not do. The loop then cannot be part of one.
  for (const graph::StackedValue &stacked : loop.getStackedValues()) {
    Value slice = behindViews(stacked.slice);
    BufferAttr place = placeOf(slice);
    if (!place || place.getKind() != BufferKind::Slice || slice.getDefiningOp()->getParentOp() != op)
      return "not merged into a persistent kernel: a slice of a loop result has to be copied";
  }
  return "";
}

Prediction predict(func::FuncOp program, GpuAttr gpu) {
  Prediction prediction;
  llvm::MapVector<Attribute, Prediction::PersistentKernel> joints;
  llvm::DenseSet<std::pair<Attribute, Attribute>> keeping;
  auto add = [&](auto &self, Block &block, double times) -> void {
    for (Operation &op : block) {
      DeviceWork work(&op, gpu);
      if (Attribute number = op.getAttr(kPersistentAttr)) {
        Prediction::PersistentKernel &persistent = joints[number];
        persistent.first = persistent.first ? persistent.first : &op;
        persistent.needs = persistent.needs.with(work.needs());
        persistent.launched += work.launched();
        persistent.launches += work.launches();
        persistent.ops.push_back(std::move(work));
        persistent.times = times;
        op.walk([&, number = number](LaunchOp launch) {
          if (keptOperand(launch) && keeping.insert({number, launch.getKernelAttr()}).second)
            persistent.kept += gpuLaunchOf(entryOf(launch)).getKeptBytes();
        });
        continue;
      }
      double trips = tripsOf(&op), inside = 0;
      for (Region &region : op.getRegions()) {
        for (Operation &inner : region.front())
          inside += DeviceWork(&inner, gpu).launched();
        self(self, region.front(), times * trips);
      }
      prediction.cycles += times * (work.launched() - trips * inside);
    }
  };
  for (Operation &op : program.getBody().front())
    prediction.apart += DeviceWork(&op, gpu).launched();
  add(add, program.getBody().front(), 1);
  for (auto &[number, persistent] : joints) {
    persistent.joined = beginning(gpu);
    for (const DeviceWork &work : persistent.ops)
      persistent.joined += work.joined(persistent.needs);
    prediction.cycles += persistent.times * persistent.joined;
    prediction.joints.push_back(std::move(persistent));
  }
  return prediction;
}

} // namespace hewn::plan
