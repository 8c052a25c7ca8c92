// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Join/JointCost.h"
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

/// Of the work of one kernel as a part of another: its blocks get shares of equal numbers, not of equal time.
static constexpr double kSharedWork = 1.1;

func::FuncOp functionOf(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
}

/// The expression's value where sizes are the typical ones.
static double typical(const DimExpr &expr) {
  return double(expr.substitute([](StringRef) { return DimExpr(kTypicalSize); }).constant().value_or(0));
}

/// An expression of a launched kernel, for the typical sizes of the program's symbols.
static double typical(const DimExpr &expr, GridLaunchAttr info, LaunchOp launch) {
  return typical(atLaunch(expr, info.getSymbols(), launch).value_or(expr));
}

std::optional<unsigned> keptOperand(LaunchOp launch) {
  GridLaunchAttr info = gridLaunchOf(functionOf(launch));
  if (!info || info.getKeptBytes() == 0 || !graph::countedLoopOf(launch->getParentOp()) ||
      info.getKeeps() >= int64_t(launch.getInputs().size()) ||
      !launch.getInputs()[unsigned(info.getKeeps())].getDefiningOp<graph::ConstantOp>())
    return std::nullopt;
  return unsigned(info.getKeeps());
}

/// The steps of counted loops are a size; those of others are known when run.
static double tripsOf(Operation *op) {
  graph::ControlOpInterface loop = graph::loopOf(op);
  return loop ? typical(loop.getNumSteps().value_or(DimExpr(kTypicalSize))) : 1;
}

void DeviceWork::addLaunch(LaunchOp launch, double times) {
  Part part;
  part.times = times;
  KernelNeeds needs = needsOf(functionOf(launch));
  part.work = {0, 0, 1, needs.threads, needs.sharedBytes};
  GridLaunchAttr info = gridLaunchOf(functionOf(launch));
  if (info) {
    part.work.multiply =
        typical(info.getWork(), info, launch) / double(grid.getProcessors() * grid.getCosts().getMmaProductsPerCycle());
    part.work.bytes = typical(info.getTraffic(), info, launch);
    part.work.blocks = std::max(typical(info.getBlocks().value_or(DimExpr(0)), info, launch), 1.0);
    part.hasTiles = info.getRegisters() > 0;
  }
  part.besideKept = part.work;
  int64_t together = std::max<int64_t>(blocksAtOnce(needs, grid), 1);
  alone += times * (double(grid.getCosts().getLaunchCycles() + grid.getCosts().getBlockOverheadCycles()) +
                    part.work.cycles(grid, together, /*shared=*/false));
  count += times;
  if (std::optional<unsigned> kept = keptOperand(launch)) {
    // It is read once, before the first step; in a step a block reads its share of it from its own memory.
    part.besideKept.bytes -= typical(bufferBytes(launch.getInputs()[*kept]));
    part.readsKept = double(info.getKeptBytes()) / double(grid.getCosts().getSharedBytesPerCycle());
  }
  parts.push_back(part);
  largest = largest.with(needs);
}

/// By the host: what is in a joint kernel has none.
void DeviceWork::addCopies(double number, double times) {
  alone += times * number * (double(grid.getCosts().getLaunchCycles() + grid.getCosts().getBlockOverheadCycles()));
  count += times * number;
}

/// Of a joint kernel alone: the states that it copies when a step ends.
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

DeviceWork::DeviceWork(Operation *op, GridAttr grid) : grid(grid) {
  add(op, 1);
  int64_t kept = 0;
  llvm::DenseSet<Attribute> keeping;
  op->walk([&](LaunchOp launch) {
    if (!keptOperand(launch) || !keeping.insert(launch.getKernelAttr()).second)
      return;
    int64_t own = gridLaunchOf(functionOf(launch)).getKeptBytes();
    kept += kept + own > grid.getSharedBytes() - kSharedBesideKept ? 0 : own;
  });
  largest.sharedBytes += kept;
}

double DeviceWork::joined(const KernelNeeds &joint) const {
  int64_t together = blocksAtOnce(joint, grid);
  double cycles = 0;
  for (const Part &part : parts) {
    if (together < 1)
      return std::numeric_limits<double>::infinity();
    double work = std::max(part.besideKept.cycles(grid, together, /*shared=*/true), part.readsKept);
    GridCostsAttr costs = grid.getCosts();
    int64_t beside = costs.getGridBarrierCycles() + costs.getBlockOverheadCycles() +
                     (part.hasTiles ? costs.getJointProductCycles() : 0);
    cycles += part.times * (double(beside) + kSharedWork * work);
  }
  return cycles;
}

static StringRef whyNotLaunchJoined(LaunchOp launch) {
  GridLaunchAttr info = gridLaunchOf(functionOf(launch));
  if (!info || !info.getBlocks())
    return "its kernel is not for a grid";
  if (info.getAlone())
    return "its kernel has groups of all threads of a block";
  if (info.getSharedBytes() > 0 || info.getBoxes())
    return "its launch brings memory or descriptions along";
  return "";
}

StringRef whyNotJoined(Operation *op) {
  if (op->getNumRegions() == 0 && (isa<graph::ConstantOp, graph::YieldOp>(op) || graph::isViewKind(op)))
    return "";
  for (Value result : op->getResults())
    if (PlaceAttr place = placeOf(result); place && place.getKind() == PlaceKind::Dynamic)
      return "its size is known only when run";
  if (auto launch = dyn_cast<LaunchOp>(op))
    return whyNotLaunchJoined(launch);
  graph::ControlOpInterface loop = graph::countedLoopOf(op);
  if (!loop || loop.getControlValues().inductionVariable)
    return "the host takes part in it";
  for (auto [i, state] : llvm::enumerate(loop.getCarriedValues())) {
    if (!handover(loop, unsigned(i)))
      return "the host has to hand over a state";
    if (graph::getDims(state.argument) != graph::getDims(state.initial))
      return "its steps have names of their own for sizes";
  }
  for (const graph::SlicedValue &sliced : loop.getSlicedValues())
    if (graph::getDims(sliced.slice) != graph::Dims(llvm::drop_begin(graph::getDims(sliced.sequence))))
      return "its steps have names of their own for sizes";
  for (Operation &inner : loop.getLoopBody())
    if (StringRef why = whyNotJoined(&inner); !why.empty())
      return why;
  // What a step gives away must be made where it belongs.
  for (const graph::StackedValue &stacked : loop.getStackedValues()) {
    Value slice = behindViews(stacked.slice);
    PlaceAttr place = placeOf(slice);
    if (!place || place.getKind() != PlaceKind::Slice || slice.getDefiningOp()->getParentOp() != op)
      return "a slice has to be copied";
  }
  return "";
}

Prediction predict(func::FuncOp program, GridAttr grid) {
  Prediction prediction;
  llvm::MapVector<Attribute, Prediction::Joint> joints;
  llvm::DenseSet<std::pair<Attribute, Attribute>> keeping;
  auto add = [&](auto &self, Block &block, double times) -> void {
    for (Operation &op : block) {
      DeviceWork work(&op, grid);
      if (Attribute number = op.getAttr(kJointAttr)) {
        Prediction::Joint &joint = joints[number];
        joint.first = joint.first ? joint.first : &op;
        joint.needs = joint.needs.with(work.needs());
        joint.launched += work.launched();
        joint.launches += work.launches();
        joint.ops.push_back(std::move(work));
        joint.times = times;
        op.walk([&, number = number](LaunchOp launch) {
          if (keptOperand(launch) && keeping.insert({number, launch.getKernelAttr()}).second)
            joint.kept += gridLaunchOf(functionOf(launch)).getKeptBytes();
        });
        continue;
      }
      double trips = tripsOf(&op), inside = 0;
      for (Region &region : op.getRegions()) {
        for (Operation &inner : region.front())
          inside += DeviceWork(&inner, grid).launched();
        self(self, region.front(), times * trips);
      }
      prediction.cycles += times * (work.launched() - trips * inside);
    }
  };
  for (Operation &op : program.getBody().front())
    prediction.apart += DeviceWork(&op, grid).launched();
  add(add, program.getBody().front(), 1);
  for (auto &[number, joint] : joints) {
    joint.joined = beginning(grid);
    for (const DeviceWork &work : joint.ops)
      joint.joined += work.joined(joint.needs);
    prediction.cycles += joint.times * joint.joined;
    prediction.joints.push_back(std::move(joint));
  }
  return prediction;
}

} // namespace hewn::plan
