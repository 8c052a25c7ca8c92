// SPDX-License-Identifier: Apache-2.0
//
// Says what must be true of dims that are known only when the model runs.
//
//     func @main(%x {graph.dims = [2, "n"]}, %w {graph.dims = ["m", 3]}) {      func @main(...) attributes {
//       %0 = graph.matmul %x, %w                                           →        graph.requires = [#graph.requirement<"node", equal, "m", "n">]
//
// Code is made as if operands fit: one that does not is read beyond its end. What an op asks for (`requirementsOf`) and types do not
// tell becomes an entry here, and a run ends with a status where an entry does not hold. Of a model whose dims are all numbers there
// is no entry: what does not fit there is an error now.
//
// What data decide is not known when a run begins, nor whether a branch or a loop's body runs: there a `graph.require_dims` stands
// before the op. Steps over a sequence count as if they ran.
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
#define GEN_PASS_DEF_REQUIREDIMSPASS
#include "lib/Transforms/Simplify/Passes.h.inc"

/// A requirement of sizes that are numbers, and do not meet it.
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
struct RequireDimsPass : impl::RequireDimsPassBase<RequireDimsPass> {
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
    SmallVector<Operation *> ops; // those that are there before any is added
    function.front().walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      if (failed(visit(op, required)))
        return signalPassFailure();
      if (graph::onlyStatesRequirement(op))
        op->erase(); // it is an entry now, or stands anew
    }
    required.write();
  }
};
} // namespace
} // namespace hewn
