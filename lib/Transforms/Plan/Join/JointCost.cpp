// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Plan/Join/JointCost.h"
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Transforms/Plan/Join/Handover.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

/// What a kernel takes before its first load and behind its last one.
static constexpr double kStageCycles = 1200;
/// Of the work of one kernel as a part of another: it gets the blocks and the registers that all of them can have.
static constexpr double kJoinedWork = 2;

func::FuncOp functionOf(LaunchOp launch) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(launch, launch.getKernelAttr());
}

JointCost &JointCost::operator+=(const JointCost &other) {
  launched += other.launched;
  joined += other.joined;
  launches += other.launches;
  return *this;
}

/// The expression's value where sizes are the typical ones.
static double typical(const DimExpr &expr) {
  return double(expr.substitute([](StringRef) { return DimExpr(kTypicalSize); }).constant().value_or(0));
}

/// The attribute of a launched kernel, for the typical sizes of the program's symbols; 0 where there is none.
static double attributeOf(LaunchOp launch, StringRef name) {
  func::FuncOp function = functionOf(launch);
  std::optional<DimExpr> work = function ? DimExpr::fromAttr(function->getAttr(name)) : std::nullopt;
  if (!work)
    return 0;
  auto names = function->getAttrOfType<ArrayAttr>(kSymbolsAttr);
  return typical(work->substitute([&](StringRef symbol) {
    for (auto [known, attr] : llvm::zip(names, launch.getSymbols()))
      if (cast<StringAttr>(known).getValue() == symbol)
        return DimExpr::fromAttr(attr).value_or(DimExpr(kTypicalSize));
    return DimExpr(kTypicalSize);
  }));
}

std::optional<unsigned> keptOperand(LaunchOp launch) {
  func::FuncOp function = functionOf(launch);
  auto argument = function ? function->getAttrOfType<IntegerAttr>(kKeepsAttr) : IntegerAttr();
  if (!argument || !isa<graph::ScanOp>(launch->getParentOp()) ||
      argument.getInt() >= int64_t(launch.getInputs().size()) ||
      !launch.getInputs()[unsigned(argument.getInt())].getDefiningOp<graph::ConstantOp>())
    return std::nullopt;
  return unsigned(argument.getInt());
}

static JointCost costOfLaunch(LaunchOp launch, GridAttr grid) {
  double bytes = attributeOf(launch, kTrafficAttr);
  double multiply = attributeOf(launch, kWorkAttr) / double(grid.getProcessors() * grid.getRate());
  // The last blocks leave processors without work.
  double blocks = std::max(attributeOf(launch, kBlocksAttr), 1.0), processors = double(grid.getProcessors());
  multiply *= std::ceil(blocks / processors) * processors / blocks;
  double work = std::max(multiply, bytes / double(grid.getMemoryRate()));
  JointCost cost;
  cost.launched = double(grid.getLaunchCycles()) + kStageCycles + work;
  if (std::optional<unsigned> kept = keptOperand(launch)) {
    // It is read once, before the first step; in a step a block reads its share of it from its own memory.
    constexpr double sharedRate = 128;
    auto share = functionOf(launch)->getAttrOfType<IntegerAttr>(kKeptBytesAttr);
    double others = bytes - typical(bufferBytes(launch.getInputs()[*kept]));
    work =
        std::max({multiply, others / double(grid.getMemoryRate()), (share ? double(share.getInt()) : 0) / sharedRate});
  }
  cost.joined = double(grid.getMeetingCycles()) + kStageCycles + kJoinedWork * work;
  cost.launches = 1;
  return cost;
}

/// Scans whose trip is a size go through it; the trips of other loops are known when run.
static double tripsOf(Operation *op) {
  auto scan = dyn_cast<graph::ScanOp>(op);
  if (!scan)
    return isa<graph::LoopOp>(op) ? double(kTypicalSize) : 1;
  auto states = unsigned(scan.getNumStates());
  return scan->getNumOperands() > states ? typical(graph::getDims(scan->getOperand(states))[0]) : 0;
}

JointCost costOf(Operation *op, GridAttr grid) {
  if (auto launch = dyn_cast<LaunchOp>(op))
    return costOfLaunch(launch, grid);
  JointCost cost;
  auto copies = [&](double count) {
    cost.launched += count * (double(grid.getLaunchCycles()) + kStageCycles);
    cost.launches += count;
  };
  if (isa<CopyOp>(op))
    copies(1);
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front())
      cost += costOf(&inner, grid);
  // The host hands states over by copies.
  auto scan = dyn_cast<graph::ScanOp>(op);
  double states = scan ? double(scan.getNumStates()) : 0;
  if (scan)
    copies(states);
  double trips = tripsOf(op);
  cost.launched *= trips;
  cost.joined *= trips;
  cost.launches *= trips;
  return cost;
}

static StringRef whyNotLaunchJoined(LaunchOp launch) {
  func::FuncOp function = functionOf(launch);
  if (!function || !function->hasAttr(kThreadsAttr) || !function->hasAttr(kBlocksAttr))
    return "its kernel is not for a grid";
  if (function->hasAttr(kAloneAttr))
    return "its kernel has groups of all threads of a block";
  if (function->hasAttr(kSharedBytesAttr) || function->hasAttr(kBoxesAttr))
    return "its launch brings memory or descriptions along";
  return "";
}

StringRef whyNotJoined(Operation *op) {
  if (op->getNumRegions() == 0 && (isa<graph::ConstantOp, graph::YieldOp>(op) || graph::isViewKind(op)))
    return "";
  for (Value result : op->getResults())
    if (PlaceAttr place = placeOf(result); place && place.getKind() == "dynamic")
      return "its size is known only when run";
  if (auto launch = dyn_cast<LaunchOp>(op))
    return whyNotLaunchJoined(launch);
  auto scan = dyn_cast<graph::ScanOp>(op);
  if (!scan)
    return "the host takes part in it";
  if (scan->getNumOperands() <= scan.getNumStates())
    return "it goes through no sequence";
  for (unsigned i = 0; i < unsigned(scan.getNumStates()); ++i)
    if (!handover(scan, i))
      return "a state has to be copied";
  for (unsigned i = 0; i < scan->getNumOperands(); ++i) {
    graph::Dims outside = graph::getDims(scan->getOperand(i));
    bool isState = i < unsigned(scan.getNumStates());
    if (graph::getDims(scan.getBody().getArgument(i)) != (isState ? outside : graph::Dims(llvm::drop_begin(outside))))
      return "its steps have names of their own for sizes";
  }
  for (Operation &inner : scan.getBody().front())
    if (StringRef why = whyNotJoined(&inner); !why.empty())
      return why;
  // What a step gives away must be made where it belongs.
  Operation *yield = scan.getBody().front().getTerminator();
  for (Value slice : yield->getOperands().drop_front(scan.getNumStates())) {
    PlaceAttr place = placeOf(behindViews(slice));
    if (!place || place.getKind() != "slice" || behindViews(slice).getDefiningOp()->getParentOp() != op)
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
      JointCost cost = costOf(&op, grid);
      if (Attribute number = op.getAttr(kJointAttr)) {
        Prediction::Joint &joint = joints[number];
        joint.first = joint.first ? joint.first : &op;
        joint.cost += cost;
        joint.times = times;
        op.walk([&, number = number](LaunchOp launch) {
          if (keptOperand(launch) && keeping.insert({number, launch.getKernelAttr()}).second)
            joint.kept += functionOf(launch)->getAttrOfType<IntegerAttr>(kKeptBytesAttr).getInt();
        });
        continue;
      }
      double trips = tripsOf(&op), inside = 0;
      for (Region &region : op.getRegions()) {
        for (Operation &inner : region.front())
          inside += costOf(&inner, grid).launched;
        self(self, region.front(), times * trips);
      }
      prediction.cycles += times * (cost.launched - trips * inside);
    }
  };
  for (Operation &op : program.getBody().front())
    prediction.apart += costOf(&op, grid).launched;
  add(add, program.getBody().front(), 1);
  for (auto &[number, joint] : joints) {
    joint.cost.joined += beginning(grid);
    prediction.cycles += joint.times * joint.cost.joined;
    prediction.joints.push_back(joint);
  }
  return prediction;
}

} // namespace hewn::plan
