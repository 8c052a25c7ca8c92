// SPDX-License-Identifier: Apache-2.0
//
// Inserts run-time checks of dim requirements that types do not prove (see Passes.td).
#include "dialects/Graph/Analysis/Requirements/Requirements.h"
#include "dialects/Graph/Graph.h"
#include "lib/Support/Diagnostics.h"
#include "lib/Transforms/Simplify/Passes.h"
#include "lib/Transforms/Simplify/Required.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using hewn::graph::Requirement;

namespace hewn {
#define GEN_PASS_DEF_INSERTSHAPEGUARDSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

/// Reports a dim requirement of an op that the static sizes of its operands violate.
static void reportUnmet(Operation *op, const Requirement &requirement) {
  StringRef message = graph::requirementMessage(requirement.relation);
  std::string text;
  while (!message.empty()) {
    if (message.consume_front("{a}"))
      text += requirement.left.str();
    else if (message.consume_front("{b}"))
      text += requirement.right.str();
    else
      text += message.front(), message = message.drop_front();
  }
  op->emitOpError(text);
}

namespace {
struct InsertShapeGuardsPass : impl::InsertShapeGuardsPassBase<InsertShapeGuardsPass> {
  LogicalResult visit(Operation *op, Required &required) {
    FailureOr<graph::Requirements> requirements = graph::requirementsOf(op);
    if (failed(requirements))
      return failure();
    for (const Requirement &requirement : requirements->list()) {
      if (required.holds(op, requirement))
        continue;
      bool atStart = required.isKnownAtStart(op, requirement);
      if (atStart && requirement.known() == false) {
        reportUnmet(op, requirement);
        return failure();
      }
      if (atStart) {
        required.addAtStart(op, requirement);
      } else {
        OpBuilder builder(op);
        required.addBefore(op, requirement, graph::makeRequirement(builder, op->getLoc(), requirement));
      }
    }
    return success();
  }

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    Required required(function);
    SmallVector<Operation *> ops; // collected first: the loop below inserts ops
    function.front().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (failed(visit(op, required)))
        return signalPassFailure();
      if (graph::onlyStatesRequirement(op))
        op->erase(); // replaced by an entry or by a new check
    }
    required.write();
  }
};
} // namespace
} // namespace hewn
