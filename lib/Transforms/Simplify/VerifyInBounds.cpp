// SPDX-License-Identifier: Apache-2.0
//
// Verifies at the end of the graph stage that every dim requirement is met or checked (see
// Passes.td).
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Simplify/Passes.h"
#include "lib/Transforms/Simplify/Required.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Requirement;

namespace hewn {
#define GEN_PASS_DEF_VERIFYINBOUNDSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

static LogicalResult verify(Operation *op, const Required &required) {
  if (graph::onlyStatesRequirement(op))
    return success();
  FailureOr<graph::Requirements> requirements = graph::requirementsOf(op);
  if (failed(requirements))
    return failure();
  for (const Requirement &requirement : requirements->list())
    if (!required.holds(op, requirement))
      return op->emitOpError() << "has a requirement that is not checked: "
                               << graph::stringifyRelation(requirement.relation) << " " << requirement.left.str()
                               << ", " << requirement.right.str();
  return success();
}

namespace {
struct VerifyInBoundsPass : impl::VerifyInBoundsPassBase<VerifyInBoundsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Required required(function);
    WalkResult walked = function.front().walk(
        [&](Operation *op) { return failed(verify(op, required)) ? WalkResult::interrupt() : WalkResult::advance(); });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
} // namespace hewn
