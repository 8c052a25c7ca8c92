// SPDX-License-Identifier: Apache-2.0
//
// Decomposes ops with DecomposeOpInterface into the five op categories (see Passes.td).
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Simplify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_DECOMPOSEOPSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

namespace {
struct DecomposeOpsPass : impl::DecomposeOpsPassBase<DecomposeOpsPass> {
  void runOnOperation() override {
    bool failedAny = false, changed = true, refinesDims = false;
    while (changed && !failedAny) {
      changed = false;
      SmallVector<graph::DecomposeOpInterface> ops;
      getOperation()->walk([&](graph::DecomposeOpInterface op) { ops.push_back(op); });
      for (graph::DecomposeOpInterface op : ops) {
        OpBuilder b(op);
        FailureOr<SmallVector<Value>> values = op.compose(b);
        if (failed(values)) {
          failedAny = true;
          continue;
        }
        for (auto [result, value] : llvm::zip(op->getResults(), *values))
          refinesDims |= value && result.getType() != value.getType();
        op->replaceAllUsesWith(*values);
        op->erase();
        changed = true;
      }
    }
    if (failedAny)
      return signalPassFailure();
    if (refinesDims && failed(reinferDims()))
      return signalPassFailure();
    // Erase dead ops in reverse order, so that one walk erases an entire chain of them. An op is
    // dead after decomposition if it computes an optional result without uses, or a list that only
    // the importer needs.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }

  /// Infers all result dims again, because a decomposition may have more precise dims than the
  /// original op.
  LogicalResult reinferDims() {
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
