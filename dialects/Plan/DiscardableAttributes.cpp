// SPDX-License-Identifier: Apache-2.0
//
// What the dialect hangs on others' ops, and on its own besides what their definitions say: where each may be, and of which form. Texts
// have anything there; passes and engines ask for these attributes and don't look at their forms again.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Plan/Subviews.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

/// What the attribute must be, where it is not; empty where it is. The op itself may not be verified yet, and its definition is not to be
/// trusted: neither its type as a function, nor what its interfaces say.
using Verify = StringRef (*)(Operation *op, Attribute attr);

static size_t numArguments(Operation *function) {
  return function->getNumRegions() == 1 ? function->getRegion(0).getNumArguments() : 0;
}

static bool isInteger(Attribute attr, int64_t least) {
  auto number = dyn_cast<IntegerAttr>(attr);
  std::optional<int64_t> value = number ? number.getValue().trySExtValue() : std::nullopt;
  return number && number.getType().isSignlessInteger(64) && *value >= least;
}

static StringRef verifyTarget(Operation *op, Attribute attr) {
  return isa<ModuleOp>(op) && isa<TargetAttr>(attr) ? "" : "is a #plan.target of a module";
}

static StringRef verifyPackingLanes(Operation *op, Attribute attr) {
  return isa<ModuleOp>(op) && isInteger(attr, 1) ? "" : "is a number of lanes, of a module";
}

static StringRef verifyUnit(Operation *op, Attribute attr) {
  return isa<ModuleOp>(op) && isa<UnitAttr>(attr) ? "" : "is a unit, of a module";
}

static StringRef verifyPlaces(Operation *op, Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  bool fits = list && list.size() == op->getNumResults() && llvm::all_of(list, llvm::IsaPred<PlaceAttr>);
  return fits ? "" : "needs a #plan.place for each result";
}

static StringRef verifyStaging(Operation *op, Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  auto isDetour = [](Attribute one) {
    auto place = dyn_cast<PlaceAttr>(one);
    return isa<UnitAttr>(one) || (place && place.getKind() == PlaceKind::Arena);
  };
  bool fits = isa<graph::ControlOpInterface>(op) && list && llvm::all_of(list, isDetour);
  return fits ? "" : "is a list of places in the arena and of units, of a loop";
}

static StringRef verifyMayOverwrite(Operation *op, Attribute attr) {
  auto inputs = dyn_cast<DenseI64ArrayAttr>(attr);
  bool fits = isa<LaunchOp>(op) && inputs &&
              llvm::all_of(inputs.asArrayRef(), [&](int64_t i) { return i >= 0 && i < int64_t(op->getNumOperands()); });
  return fits ? "" : "numbers inputs of a launch";
}

static StringRef verifyTurns(Operation *op, Attribute attr) {
  return isa<LaunchOp>(op) && isa<UnitAttr>(attr) ? "" : "is a unit, of a launch";
}

/// Whether the expression is over these symbols alone, which a launch gives.
static bool isOver(ArrayAttr symbols, const DimExpr &expr) {
  bool isOver = true;
  expr.walkSymbols([&](StringRef name) {
    isOver &= llvm::any_of(symbols, [&](Attribute symbol) { return cast<StringAttr>(symbol).getValue() == name; });
  });
  return isOver;
}

static bool isOverItsSymbols(TasksAttr tasks) { return isOver(tasks.getSymbols(), tasks.getCount()); }

static bool isOverItsSymbols(GridLaunchAttr launch) {
  SmallVector<DimExpr> all = {launch.getBlocks().value_or(DimExpr(0)), launch.getWork(), launch.getTraffic()};
  ArrayRef<Attribute> boxes = launch.getBoxes() ? launch.getBoxes().getValue() : ArrayRef<Attribute>();
  for (Attribute box : boxes) // as the launch and the box verify
    for (ArrayAttr list : {cast<BoxAttr>(box).getExtents(), cast<BoxAttr>(box).getStrides()})
      for (Attribute attr : list)
        all.push_back(*DimExpr::fromAttr(attr));
  return llvm::all_of(all, [&](const DimExpr &expr) { return isOver(launch.getSymbols(), expr); });
}

static StringRef verifyLaunchInfo(Operation *op, Attribute attr) {
  if (!isa<FunctionOpInterface>(op) || !isa<TasksAttr, GridLaunchAttr>(attr))
    return "is a #plan.tasks or #plan.grid_launch of a function";
  auto grid = dyn_cast<GridLaunchAttr>(attr);
  if (grid ? !isOverItsSymbols(grid) : !isOverItsSymbols(cast<TasksAttr>(attr)))
    return "has expressions over other symbols than its own";
  ArrayAttr symbols = grid ? grid.getSymbols() : cast<TasksAttr>(attr).getSymbols();
  size_t boxes = grid && grid.getBoxes() ? grid.getBoxes().size() : 0;
  return symbols.size() + boxes > numArguments(op) ? "has more symbols and boxes than the function has arguments" : "";
}

static StringRef verifyKeeps(Operation *op, Attribute attr) {
  bool fits = isa<KernelOp>(op) && isInteger(attr, 0) && cast<IntegerAttr>(attr).getInt() < int64_t(numArguments(op));
  return fits ? "" : "is the number of an argument of a kernel";
}

static StringRef verifyJoint(Operation *, Attribute attr) { return isInteger(attr, 0) ? "" : "is a number"; }

static StringRef verifyArenaBytes(Operation *op, Attribute attr) {
  return isa<FunctionOpInterface>(op) && DimExpr::fromAttr(attr) ? "" : "is a number or an expression, of a function";
}

static StringRef verifyArenaLevels(Operation *op, Attribute attr) {
  return isa<FunctionOpInterface>(op) && graph::parseDims(attr) ? ""
                                                                : "is a list of numbers and expressions, of a function";
}

static StringRef verifyMaxLive(Operation *op, Attribute attr) {
  return isa<FunctionOpInterface>(op) && isInteger(attr, 0) ? "" : "is a number of bytes, of a function";
}

static StringRef verifySteps(Operation *op, Attribute attr) {
  return isa<AssembleOp>(op) && isa<DenseI64ArrayAttr>(attr) ? "" : "is a list of steps, of plan.assemble";
}

LogicalResult PlanDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  static const llvm::StringMap<Verify> known = {{kTargetAttr, verifyTarget},
                                                {kPackingLanesAttr, verifyPackingLanes},
                                                {kPacksForAnyRowsAttr, verifyUnit},
                                                {kSharesFloatsAttr, verifyUnit},
                                                {kPlacesAttr, verifyPlaces},
                                                {kStagingAttr, verifyStaging},
                                                {kMayOverwriteAttr, verifyMayOverwrite},
                                                {kTurnsAttr, verifyTurns},
                                                {kLaunchInfoAttr, verifyLaunchInfo},
                                                {kKeepsAttr, verifyKeeps},
                                                {kJointAttr, verifyJoint},
                                                {kArenaBytesAttr, verifyArenaBytes},
                                                {kArenaLevelsAttr, verifyArenaLevels},
                                                {kMaxLiveAttr, verifyMaxLive},
                                                {kStepsAttr, verifySteps}};
  auto found = known.find(attribute.getName().getValue());
  if (found == known.end())
    return op->emitOpError("has an attribute that the dialect plan does not have: '")
           << attribute.getName().getValue() << "'";
  if (StringRef why = found->second(op, attribute.getValue()); !why.empty())
    return op->emitOpError("has a '") << attribute.getName().getValue() << "' that is wrong: it " << why;
  return success();
}

LogicalResult PlanDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kSharedArgumentAttr && isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("has an attribute of argument ")
         << argument << " that the dialect plan does not have: '" << attribute.getName().getValue() << "'";
}

} // namespace hewn::plan
