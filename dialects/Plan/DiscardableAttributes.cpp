// SPDX-License-Identifier: Apache-2.0
//
// Verifies the discardable attributes of the plan dialect: that each attribute is on an op where it
// is allowed, and that its value is well-formed. Passes rely on this and do not check again.
#include "dialects/Graph/Graph.h"
#include "dialects/Plan/Plan.h"
#include "dialects/Plan/Subviews.h"
#include "lib/Support/Remarks.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using hewn::graph::DimExpr;

namespace hewn::plan {

/// Verifies a discardable attribute. Returns an empty string if it is valid, and otherwise what it
/// must be, for the error. The op itself may not have been verified yet, so its function type and
/// interfaces are not reliable.
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
  return isa<ModuleOp>(op) && isa<TargetAttr>(attr) ? "" : "must be a #plan.cpu or #plan.gpu of a module";
}

static StringRef verifyText(Operation *op, Attribute attr) {
  return isa<ModuleOp>(op) && isa<StringAttr>(attr) ? "" : "must be a text of a module";
}

static StringRef verifyPackingLanes(Operation *op, Attribute attr) {
  return isa<ModuleOp>(op) && isInteger(attr, 1) ? "" : "must be a positive number of lanes on a module";
}

static StringRef verifyUnit(Operation *op, Attribute attr) {
  return isa<ModuleOp>(op) && isa<UnitAttr>(attr) ? "" : "must be a unit attribute of a module";
}

static StringRef verifyBuffers(Operation *op, Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  bool fits = list && list.size() == op->getNumResults() && llvm::all_of(list, llvm::IsaPred<BufferAttr>);
  return fits ? "" : "must have a #plan.buffer for each result";
}

static StringRef verifyStaging(Operation *op, Attribute attr) {
  auto list = dyn_cast<ArrayAttr>(attr);
  auto isDetour = [](Attribute one) {
    auto place = dyn_cast<BufferAttr>(one);
    return isa<UnitAttr>(one) || (place && place.getKind() == BufferKind::Arena);
  };
  bool fits = isa<graph::ControlOpInterface>(op) && list && llvm::all_of(list, isDetour);
  return fits ? "" : "must be a list of arena buffers and units on a loop";
}

static StringRef verifyMayOverwrite(Operation *op, Attribute attr) {
  auto inputs = dyn_cast<DenseI64ArrayAttr>(attr);
  bool fits = isa<LaunchOp>(op) && inputs &&
              llvm::all_of(inputs.asArrayRef(), [&](int64_t i) { return i >= 0 && i < int64_t(op->getNumOperands()); });
  return fits ? "" : "must be a list of input numbers of a launch";
}

static StringRef verifyTurns(Operation *op, Attribute attr) {
  return isa<LaunchOp>(op) && isa<UnitAttr>(attr) ? "" : "must be a unit attribute of a launch";
}

/// Returns true if all symbols in `expr` are among `symbols`, which a launch binds to values.
static bool isOver(ArrayAttr symbols, const DimExpr &expr) {
  bool isOver = true;
  expr.walkSymbols([&](StringRef name) {
    isOver &= llvm::any_of(symbols, [&](Attribute symbol) { return cast<StringAttr>(symbol).getValue() == name; });
  });
  return isOver;
}

static bool isOverItsSymbols(TasksAttr tasks) { return isOver(tasks.getSymbols(), tasks.getCount()); }

static bool isOverItsSymbols(GpuLaunchAttr launch) {
  SmallVector<DimExpr> all = {launch.getBlocks().value_or(DimExpr(0)), launch.getWork(), launch.getTraffic()};
  ArrayRef<Attribute> boxes = launch.getBoxes() ? launch.getBoxes().getValue() : ArrayRef<Attribute>();
  // the casts of TMA tiles are safe: the verifiers of the attributes check these types
  for (Attribute box : boxes)
    for (ArrayAttr list : {cast<TmaTileAttr>(box).getExtents(), cast<TmaTileAttr>(box).getStrides()})
      for (Attribute attr : list)
        all.push_back(*DimExpr::fromAttr(attr));
  return llvm::all_of(all, [&](const DimExpr &expr) { return isOver(launch.getSymbols(), expr); });
}

static StringRef verifyLaunchInfo(Operation *op, Attribute attr) {
  if (!isa<FunctionOpInterface>(op) || !isa<TasksAttr, GpuLaunchAttr>(attr))
    return "must be a #plan.tasks or #plan.gpu_launch of a function";
  auto gpu = dyn_cast<GpuLaunchAttr>(attr);
  if (gpu ? !isOverItsSymbols(gpu) : !isOverItsSymbols(cast<TasksAttr>(attr)))
    return "has an expression with an undeclared symbol";
  ArrayAttr symbols = gpu ? gpu.getSymbols() : cast<TasksAttr>(attr).getSymbols();
  size_t boxes = gpu && gpu.getBoxes() ? gpu.getBoxes().size() : 0;
  return symbols.size() + boxes > numArguments(op) ? "has more symbols and TMA tiles than the function has arguments"
                                                   : "";
}

static StringRef verifyKeeps(Operation *op, Attribute attr) {
  auto kernel = dyn_cast<KernelOp>(op);
  bool fits = kernel && isInteger(attr, 0) &&
              cast<IntegerAttr>(attr).getInt() < int64_t(kernel.getFunctionType().getNumInputs());
  return fits ? "" : "must be the number of an argument of a kernel";
}

static StringRef verifyScratch(Operation *op, Attribute attr) {
  return isa<KernelOp>(op) && graph::parseDims(attr) ? "" : "must be a list of numbers and expressions on a kernel";
}

static StringRef verifyJoint(Operation *, Attribute attr) { return isInteger(attr, 0) ? "" : "must be a number"; }

static StringRef verifyArenaBytes(Operation *op, Attribute attr) {
  return isa<FunctionOpInterface>(op) && DimExpr::fromAttr(attr) ? ""
                                                                 : "must be a number or an expression on a function";
}

static StringRef verifyArenaLevels(Operation *op, Attribute attr) {
  return isa<FunctionOpInterface>(op) && graph::parseDims(attr)
             ? ""
             : "must be a list of numbers and expressions on a function";
}

static StringRef verifyMaxLive(Operation *op, Attribute attr) {
  return isa<FunctionOpInterface>(op) && isInteger(attr, 0) ? "" : "must be a number of bytes on a function";
}

static StringRef verifySteps(Operation *op, Attribute attr) {
  return isa<AssembleOp>(op) && isa<DenseI64ArrayAttr>(attr) ? "" : "must be a list of steps on a plan.assemble";
}

LogicalResult PlanDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  static const llvm::StringMap<Verify> known = {{kTargetAttr, verifyTarget},
                                                {kTargetNameAttr, verifyText},
                                                {kTuningTargetAttr, verifyText},
                                                {kTitleAttr, verifyText},
                                                {kPackingLanesAttr, verifyPackingLanes},
                                                {kPacksForAnyRowsAttr, verifyUnit},
                                                {kSharesFloatsAttr, verifyUnit},
                                                {kBuffersAttr, verifyBuffers},
                                                {kStagingAttr, verifyStaging},
                                                {kMayOverwriteAttr, verifyMayOverwrite},
                                                {kAlternatesAttr, verifyTurns},
                                                {kLaunchInfoAttr, verifyLaunchInfo},
                                                {kResidentWeightsAttr, verifyKeeps},
                                                {kScratchAttr, verifyScratch},
                                                {kPersistentAttr, verifyJoint},
                                                {kArenaBytesAttr, verifyArenaBytes},
                                                {kArenaLevelsAttr, verifyArenaLevels},
                                                {kMaxLiveAttr, verifyMaxLive},
                                                {kStepsAttr, verifySteps}};
  auto found = known.find(attribute.getName().getValue());
  if (found == known.end())
    return op->emitOpError("has an attribute that is not in the plan dialect: '")
           << attribute.getName().getValue() << "'";
  if (StringRef why = found->second(op, attribute.getValue()); !why.empty())
    return op->emitOpError("has a '") << attribute.getName().getValue() << "' that is invalid: it " << why;
  return success();
}

LogicalResult PlanDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned argument,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kSharedArgumentAttr && isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("has an attribute of argument ")
         << argument << " that is not in the plan dialect: '" << attribute.getName().getValue() << "'";
}

} // namespace hewn::plan
