// SPDX-License-Identifier: Apache-2.0
//
// Writes composed ops in the five kinds.
//
//     %y = graph.softmax %x {axis = 1}   →   %m = graph.reduce_max %x ... %e = graph.exp %d ... %y = graph.div %e, %s
//
// An op says itself how it is composed (ComposeOpInterface); the pass repeats until none is left, in nested regions
// too. An op that cannot be composed is an error that the op has explained. Nothing is gained here: grouping puts the
// parts into one kernel again. Engines with a better form for a whole op would take it before this pass.
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_COMPOSEOPSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {
struct ComposeOpsPass : impl::ComposeOpsPassBase<ComposeOpsPass> {
  void runOnOperation() override {
    bool failedAny = false, changed = true, saysMore = false;
    while (changed && !failedAny) {
      changed = false;
      SmallVector<graph::ComposeOpInterface> ops;
      getOperation()->walk([&](graph::ComposeOpInterface op) { ops.push_back(op); });
      for (graph::ComposeOpInterface op : ops) {
        OpBuilder b(op);
        FailureOr<SmallVector<Value>> values = op.compose(b);
        if (failed(values)) {
          failedAny = true;
          continue;
        }
        for (auto [result, value] : llvm::zip(op->getResults(), *values))
          saysMore |= value && result.getType() != value.getType();
        op->replaceAllUsesWith(*values);
        op->erase();
        changed = true;
      }
    }
    if (failedAny)
      return signalPassFailure();
    if (saysMore && failed(inferAgain()))
      return signalPassFailure();
    // Users before what they use, so that all of a chain that nobody reads goes: results that an op has and a model does
    // not take, lists that only the importer looked at.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }

  /// What an op is composed of may know a dim that the op did not: one of scales, say.
  LogicalResult inferAgain() {
    WalkResult walked = getOperation()->walk([](graph::ShapeOpInterface op) {
      return failed(graph::inferResults(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    getOperation()->walk([](func::FuncOp function) {
      if (!function.isExternal())
        function.setFunctionType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                                   function.front().getTerminator()->getOperandTypes()));
    });
    return failure(walked.wasInterrupted());
  }
};
} // namespace
} // namespace hewn
