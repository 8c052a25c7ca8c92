// SPDX-License-Identifier: Apache-2.0
//
// Wraps the ops of each fusion group into a graph.group (see Passes.td).
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Fuse/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_FORMFUSIONGROUPSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

void formGroup(ArrayRef<Operation *> ops) {
  llvm::SmallPtrSet<Operation *, 8> members(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs;
  SmallVector<graph::ConstantOp> constants;
  SmallVector<Value> outputs;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      if (members.contains(operand.getDefiningOp()))
        continue;
      auto constant = operand.getDefiningOp<graph::ConstantOp>();
      if (constant && isa<SplatElementsAttr>(constant.getValue())) {
        if (!llvm::is_contained(constants, constant))
          constants.push_back(constant);
      } else {
        inputs.insert(operand);
      }
    }
    for (Value result : op->getResults())
      if (isa<graph::ScratchOp>(op) ||
          llvm::any_of(result.getUsers(), [&](Operation *user) { return !members.contains(user); }))
        outputs.push_back(result);
  }
  Operation *last = ops.back();
  if (outputs.empty())
    return;

  OpBuilder b(last);
  SmallVector<Location> locs;
  for (Operation *op : ops)
    locs.push_back(op->getLoc());
  auto why = last->getAttrOfType<StringAttr>(kWhyAttr);
  auto group = graph::GroupOp::create(b, FusedLoc::get(b.getContext(), locs), ValueRange(outputs).getTypes(),
                                      inputs.getArrayRef(), why);
  SmallVector<graph::Dims> dims = llvm::map_to_vector(outputs, [](Value v) { return graph::getDims(v); });
  graph::setResultDims(group, dims);
  Block *body = b.createBlock(&group.getBody());
  SmallVector<Attribute> argumentDims;
  IRMapping map;
  for (Value input : inputs) {
    map.map(input, body->addArgument(input.getType(), input.getLoc()));
    argumentDims.push_back(graph::dimsAttr(b.getContext(), graph::getDims(input)));
  }
  bool dynamic = llvm::any_of(inputs, [](Value v) { return !cast<RankedTensorType>(v.getType()).hasStaticShape(); });
  if (dynamic)
    group->setAttr(graph::kRegionDimsAttr, b.getArrayAttr(b.getArrayAttr(argumentDims)));
  b.setInsertionPointToEnd(body);
  for (graph::ConstantOp constant : constants)
    b.clone(*constant, map);
  for (Operation *op : ops) {
    Operation *copy = b.clone(*op, map);
    copy->removeAttr(kGroupAttr);
    copy->removeAttr(kWhyAttr);
  }
  graph::YieldOp::create(b, group.getLoc(), llvm::map_to_vector(outputs, [&](Value v) { return map.lookup(v); }));
  for (auto [output, result] : llvm::zip(outputs, group.getResults()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) { return !members.contains(use.getOwner()); });
  for (Operation *op : llvm::reverse(ops))
    op->erase();
}

struct FormFusionGroupsPass : impl::FormFusionGroupsPassBase<FormFusionGroupsPass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks) {
      llvm::MapVector<int64_t, SmallVector<Operation *>> groups;
      for (Operation &op : *block)
        if (auto number = op.getAttrOfType<IntegerAttr>(kGroupAttr))
          groups[number.getInt()].push_back(&op);
      for (auto &[number, ops] : groups)
        formGroup(ops);
    }
  }
};

} // namespace
} // namespace hewn
