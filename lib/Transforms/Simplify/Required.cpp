// SPDX-License-Identifier: Apache-2.0
#include "lib/Transforms/Simplify/Required.h"
#include "dialects/Graph/Control/ControlFlow.h"
#include "lib/Support/Diagnostics.h"

using namespace mlir;
using hewn::graph::Requirement;

namespace hewn {

static std::string textOf(const Requirement &requirement) {
  return (graph::stringifyRelation(requirement.relation) + "?" + requirement.left.str() + "?" + requirement.right.str())
      .str();
}

Required::Required(func::FuncOp function) : function(function) {
  for (Value argument : function.getArguments())
    for (const graph::DimExpr &dim : graph::getDims(argument))
      dim.walkSymbols([&](StringRef name) { symbols.insert(name); });
  if (auto written = function->getAttrOfType<ArrayAttr>(graph::kRequiresAttr))
    for (auto entry : written.getAsRange<graph::RequirementAttr>()) {
      entries.insert(entry);
      texts.insert(textOf({entry.getRelation(), entry.getLeft(), entry.getRight()}));
    }
  function.walk([&](Operation *op) {
    if (!graph::onlyStatesRequirement(op))
      return;
    if (FailureOr<graph::Requirements> own = graph::requirementsOf(op); succeeded(own))
      for (const Requirement &requirement : own->list())
        checks[op->getBlock()].try_emplace(textOf(requirement), op);
  });
}

bool Required::holds(Operation *op, const Requirement &requirement) const {
  if (requirement.known() == true)
    return true;
  std::string text = textOf(requirement);
  if (texts.contains(text))
    return true;
  for (Operation *at = op; !isa<func::FuncOp>(at); at = at->getParentOp())
    if (auto found = checks.find(at->getBlock()); found != checks.end())
      if (Operation *check = found->second.lookup(text); check && check != op && check->isBeforeInBlock(at))
        return true;
  return false;
}

bool Required::isKnownAtStart(Operation *op, const Requirement &requirement) const {
  bool known = true;
  for (const graph::DimExpr &expr : {requirement.left, requirement.right})
    expr.walkSymbols([&](StringRef name) { known &= symbols.contains(name); });
  for (Operation *outer = op->getParentOp(); !isa<func::FuncOp>(outer); outer = outer->getParentOp())
    known &= bool(graph::countedLoopOf(outer));
  return known;
}

void Required::addAtStart(Operation *op, const Requirement &requirement) {
  if (!texts.insert(textOf(requirement)).second)
    return;
  Builder b(op);
  entries.insert(graph::RequirementAttr::get(op->getContext(), b.getStringAttr(nodeName(op->getLoc())),
                                             requirement.relation, requirement.left, requirement.right));
}

void Required::addBefore(Operation *op, const Requirement &requirement, Operation *check) {
  checks[op->getBlock()][textOf(requirement)] = check;
}

void Required::write() {
  if (!entries.empty())
    function->setAttr(graph::kRequiresAttr, Builder(function).getArrayAttr(entries.getArrayRef()));
}

} // namespace hewn
