// SPDX-License-Identifier: Apache-2.0
//
// What is true of a planned program, so that emission need not ask.
#include "dialects/Graph/Analysis/Views.h"
#include "lib/Transforms/Plan/Buffers.h"
#include "lib/Transforms/Plan/Liveness.h"
#include "lib/Transforms/Plan/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

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
  if (isa<LaunchOp, CopyOp, graph::ConstantOp, graph::ReadSymbolOp, graph::DimValueOp, graph::PartOpInterface,
          graph::IfOp, graph::LoopOp, graph::ScanOp, graph::YieldOp, func::ReturnOp>(op))
    return success();
  if (!isView(op))
    return op->emitOpError("is not in a kernel, and the program can't do it by itself");
  return graph::isView(op) ? success()
                           : op->emitOpError("is a view whose result does not lie in memory as its operand does");
}

LogicalResult verifyPlaces(Operation *op) {
  if (op->getNumResults() == 0 || isa<graph::ConstantOp>(op))
    return success();
  auto places = op->getAttrOfType<ArrayAttr>(kPlacesAttr);
  if (!places || places.size() != op->getNumResults() || !llvm::all_of(places, llvm::IsaPred<PlaceAttr>))
    return op->emitOpError("needs a place for each result in '") << kPlacesAttr << "'";
  for (auto [result, attr] : llvm::zip(op->getResults(), places)) {
    auto place = cast<PlaceAttr>(attr);
    bool own = ownsBuffer(cast<OpResult>(result));
    bool fits = own ? llvm::is_contained({"arena", "output", "slice", "dynamic"}, place.getKind())
                    : place.getKind() == (isa<graph::IfOp>(op) ? "forward" : "alias");
    bool needsOffset = llvm::is_contained({"arena", "output", "slice"}, place.getKind());
    if (!fits || (needsOffset && !graph::DimExpr::fromAttr(place.getOffset())))
      return op->emitOpError("has no use for the place ") << place;
  }
  return success();
}

LogicalResult verifyDisjoint(func::FuncOp program) {
  struct Block {
    Value value;
    Lifetime life;
    int64_t begin, end;
  };
  std::vector<Block> blocks;
  Liveness liveness(program);
  for (auto &[value, life] : liveness.lifetimes()) {
    auto result = cast<OpResult>(value);
    auto place = cast<PlaceAttr>(result.getOwner()->getAttrOfType<ArrayAttr>(kPlacesAttr)[result.getResultNumber()]);
    if (place.getKind() != "arena")
      continue;
    std::optional<int64_t> offset = graph::DimExpr::fromAttr(place.getOffset())->constant();
    std::optional<int64_t> bytes = bufferBytes(value).constant();
    if (offset && bytes)
      blocks.push_back({value, life, *offset, *offset + *bytes});
  }
  for (auto [i, a] : llvm::enumerate(blocks))
    for (const Block &b : llvm::ArrayRef(blocks).drop_front(i + 1))
      if (a.life.overlaps(b.life) && a.begin < b.end && b.begin < a.end &&
          !(a.life.end == b.life.begin && llvm::is_contained(overwritableBuffers(b.value.getDefiningOp()), a.value))) {
        InFlightDiagnostic error = emitError(b.value.getLoc(), "overlaps another value in the arena");
        error.attachNote(a.value.getLoc()) << "this one";
        return error;
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
      failedAny |= failed(verifyForm(op)) || failed(verifyPlaces(op));
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
