// SPDX-License-Identifier: Apache-2.0
//
// What is true of a planned program, so that emission need not ask.
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Transforms/Plan/Arena/PlannedArena.h"
#include "lib/Transforms/Plan/Join/Handover.h"
#include "lib/Transforms/Plan/Passes.h"
#include "lib/Transforms/Plan/Values/Buffers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>

namespace hewn {
#define GEN_PASS_DEF_VERIFYPLANPASS
#include "lib/Transforms/Plan/Passes.h.inc"
} // namespace hewn

using namespace mlir;
using namespace hewn;
using namespace hewn::plan;

namespace {

/// An op that the program may hold, with memory that views can share.
LogicalResult verifyForm(Operation *op) {
  if (isa<LaunchOp, AssembleOp, CopyOp, graph::ConstantOp, graph::ReadSymbolOp, graph::DimValueOp,
          graph::PartOpInterface, graph::ControlOpInterface, graph::YieldOp, func::ReturnOp>(op) ||
      graph::onlyStatesRequirement(op))
    return success();
  if (!graph::isViewKind(op))
    return op->emitOpError("is not in a kernel, and the program can't do it by itself");
  return graph::isView(op) ? success()
                           : op->emitOpError("is a view whose result does not lie in memory as its operand does");
}

LogicalResult verifyPlaces(Operation *op) {
  if (op->getNumResults() == 0 || isa<graph::ConstantOp>(op))
    return success();
  auto places = op->getAttrOfType<ArrayAttr>(kPlacesAttr);
  if (!places) // the dialect verifies what is there
    return op->emitOpError("needs a place for each result in '") << kPlacesAttr << "'";
  for (auto [result, attr] : llvm::zip(op->getResults(), places)) {
    auto place = cast<PlaceAttr>(attr);
    bool own = ownsBuffer(cast<OpResult>(result));
    PlaceKind other = graph::branchesOf(op) ? PlaceKind::Forward
                      : assemblyOf(result)  ? PlaceKind::Subview
                                            : PlaceKind::Alias;
    bool fits = own ? llvm::is_contained({PlaceKind::Arena, PlaceKind::Output, PlaceKind::Slice, PlaceKind::Dynamic},
                                         place.getKind())
                    : place.getKind() == other;
    if (!fits)
      return op->emitOpError("has no use for the place ") << place;
    if (failed(verifyIsThere(place, op)))
      return failure();
  }
  return success();
}

/// A loop's detours lie in the arena: one place, or unit, for each carried value.
LogicalResult verifyStaging(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>(kStagingAttr);
  graph::ControlOpInterface loop = graph::loopOf(op);
  if (list && (!loop || list.size() != loop.getCarriedValues().size()))
    return op->emitOpError("needs a place in the arena or unit for each carried value in '") << kStagingAttr << "'";
  return success();
}

/// No two buffers that live at the same time share memory, and all lie in the arena; with symbols, for the sample sizes.
LogicalResult verifyDisjoint(func::FuncOp program) {
  PlannedArena arena(program);
  for (const Sample &sample : samplesOf(program)) {
    if (!arena.fits(sample)) // products of dozens of dims
      continue;
    PlannedArena::Sized sized = arena.at(sample);
    auto ownerOf = [&](size_t buffer) { return arena.buffers()[buffer].value.getDefiningOp(); };
    std::vector<size_t> byBegin;
    for (auto [i, block] : llvm::enumerate(sized.blocks)) {
      if (block.offset < 0 || block.offset + block.size > sized.bytes)
        return ownerOf(i)->emitOpError("does not lie within the arena");
      if (block.size > 0)
        byBegin.push_back(i);
    }
    llvm::stable_sort(byBegin,
                      [&](size_t i, size_t j) { return sized.blocks[i].life.begin < sized.blocks[j].life.begin; });
    // What lives where the sweep is: by where it lies, and by where it ends.
    std::map<int64_t, size_t> lying;
    std::multimap<unsigned, size_t> ending;
    for (size_t i : byBegin) {
      const ArenaBlock &block = sized.blocks[i];
      auto ended = ending.lower_bound(block.life.begin);
      for (auto [end, j] : llvm::make_range(ending.begin(), ended))
        lying.erase(sized.blocks[j].offset);
      ending.erase(ending.begin(), ended);
      auto above = lying.lower_bound(block.offset);
      auto below = above == lying.begin() ? lying.end() : std::prev(above);
      std::optional<size_t> other;
      if (above != lying.end() && above->first < block.offset + block.size)
        other = above->second;
      else if (below != lying.end() && below->first + sized.blocks[below->second].size > block.offset)
        other = below->second;
      if (other) {
        InFlightDiagnostic error = ownerOf(i)->emitOpError("overlaps another value in the arena");
        error.attachNote(ownerOf(*other)->getLoc()) << "this one";
        return error;
      }
      lying[block.offset] = i;
      ending.insert({block.life.end, i});
    }
  }
  return success();
}

struct VerifyPlan : public hewn::impl::VerifyPlanPassBase<VerifyPlan> {
  void runOnOperation() override {
    auto program = getOperation().lookupSymbol<func::FuncOp>(kProgramName);
    if (!program || program.isDeclaration()) {
      getOperation().emitError("has no program: a function '") << kProgramName << "' with a body";
      return signalPassFailure();
    }
    SymbolTable table(getOperation());
    bool failedAny = false;
    program.getBody().walk([&](Operation *op) {
      failedAny |= failed(verifyForm(op)) || failed(verifyPlaces(op)) || failed(verifyStaging(op));
      if (auto launch = dyn_cast<LaunchOp>(op); launch && !table.lookup(launch.getKernel())) {
        launch.emitOpError("launches a kernel that is not there: ") << launch.getKernel();
        failedAny = true;
      }
    });
    if (!program->hasAttr(kArenaBytesAttr)) {
      program.emitOpError("has no '") << kArenaBytesAttr << "'";
      failedAny = true;
    }
    if (failedAny || failed(verifyDisjoint(program)))
      signalPassFailure();
  }
};

} // namespace
