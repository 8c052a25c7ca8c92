// SPDX-License-Identifier: Apache-2.0
//
// Verifies a planned program, so that code emission can rely on it (see Passes.td).
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

/// Verifies that a planned program may contain the op. If the op is a view, also verifies that it
/// has the same memory as its operand.
LogicalResult verifyForm(Operation *op) {
  if (isa<LaunchOp, AssembleOp, CopyOp, graph::ConstantOp, graph::ReadSymbolOp, graph::DimValueOp,
          graph::RuntimeCallOpInterface, graph::ControlOpInterface, graph::YieldOp, func::ReturnOp>(op) ||
      graph::onlyStatesRequirement(op))
    return success();
  if (!graph::isViewKind(op))
    return op->emitOpError("must be in a kernel: the program cannot execute it directly");
  return graph::isView(op) ? success()
                           : op->emitOpError("is a view whose result has another memory layout than its operand");
}

LogicalResult verifyBuffers(Operation *op) {
  if (op->getNumResults() == 0 || isa<graph::ConstantOp>(op))
    return success();
  auto places = op->getAttrOfType<ArrayAttr>(kBuffersAttr);
  if (!places) // if the buffer attribute exists, its verifier has checked it
    return op->emitOpError("needs a buffer assignment for each result in '") << kBuffersAttr << "'";
  for (auto [result, attr] : llvm::zip(op->getResults(), places)) {
    auto place = cast<BufferAttr>(attr);
    bool own = ownsBuffer(cast<OpResult>(result));
    BufferKind other = graph::branchesOf(op) ? BufferKind::Forward
                       : assemblyOf(result)  ? BufferKind::Subview
                                             : BufferKind::Alias;
    bool fits =
        own ? llvm::is_contained({BufferKind::Arena, BufferKind::Output, BufferKind::Slice, BufferKind::Dynamic},
                                 place.getKind())
            : place.getKind() == other;
    if (!fits)
      return op->emitOpError("has a buffer assignment of the wrong kind: ") << place;
    if (failed(verifyIsThere(place, op)))
      return failure();
  }
  return success();
}

/// Verifies the staging buffers of a loop's carried values: each is an arena offset, or unit for a
/// value that is not staged.
LogicalResult verifyStaging(Operation *op) {
  auto list = op->getAttrOfType<ArrayAttr>(kStagingAttr);
  graph::ControlOpInterface loop = graph::loopOf(op);
  if (list && (!loop || list.size() != loop.getCarriedValues().size()))
    return op->emitOpError("needs an arena offset or unit for each carried value in '") << kStagingAttr << "'";
  return success();
}

/// Verifies that no two live buffers overlap in the arena, and that all buffers are inside of it.
/// Symbolic sizes are verified for sample values only.
LogicalResult verifyDisjoint(func::FuncOp program) {
  PlannedArena arena(program);
  for (const Sample &sample : samplesOf(program)) {
    if (!arena.fits(sample)) // the sizes in this sample may overflow 64 bits
      continue;
    PlannedArena::Sized sized = arena.at(sample);
    auto ownerOf = [&](size_t buffer) { return arena.buffers()[buffer].value.getDefiningOp(); };
    std::vector<size_t> byBegin;
    for (auto [i, block] : llvm::enumerate(sized.blocks)) {
      if (block.offset < 0 || block.offset + block.size > sized.bytes)
        return ownerOf(i)->emitOpError("is outside of the arena");
      if (block.size > 0)
        byBegin.push_back(i);
    }
    llvm::stable_sort(byBegin,
                      [&](size_t i, size_t j) { return sized.blocks[i].life.begin < sized.blocks[j].life.begin; });
    // Buffers that are live at the current position of the sweep over the program, ordered by
    // offset and by end of lifetime.
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
      failedAny |= failed(verifyForm(op)) || failed(verifyBuffers(op)) || failed(verifyStaging(op));
      if (auto launch = dyn_cast<LaunchOp>(op); launch && !table.lookup(launch.getKernel())) {
        launch.emitOpError("launches an undefined kernel: ") << launch.getKernel();
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
