// SPDX-License-Identifier: Apache-2.0
//
// Sinks dequantize and extend ops into the fusion groups of their users (see Passes.td).
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Fuse/Recompute.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_SINKDEQUANTIZEPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

class DequantizeSinker {
public:
  explicit DequantizeSinker(Block &block) : block(block) {
    for (Operation &op : block)
      if (IntegerAttr group = groupOf(&op)) {
        ++sizes[group];
        if (isa<graph::ContractOpInterface>(op))
          contractions.insert(group);
      }
  }

  void run() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (extendsOperand(&op) &&
          llvm::all_of(op.getUsers(), [&](Operation *user) { return isInside(&op, user) || canRecompute(user, &op); }))
        sink(&op);
  }

private:
  Block &block;
  /// For each fusion group, its number of ops, and whether it contains a contraction. An indexing
  /// op in a contraction's group is padding that the contraction folds.
  llvm::DenseMap<Attribute, unsigned> sizes;
  llvm::DenseSet<Attribute> contractions;
  Recompute recompute;

  static bool isInside(Operation *op, Operation *user) { return groupOf(user) == groupOf(op); }

  /// Returns true if the op extends the elements of its operand to a type with more bits, has only
  /// one operand with several elements, and costs no more than a load.
  bool extendsOperand(Operation *op) {
    if (!isa<graph::ElementwiseOpInterface>(op) || op->getNumResults() != 1 || !groupOf(op) ||
        recompute.isExpensive(op))
      return false;
    Value result = op->getResult(0), data;
    for (Value operand : op->getOperands()) {
      if (graph::numElements(graph::getDims(operand)).is(1))
        continue;
      if (data)
        return false;
      data = operand;
    }
    return data && graph::getDims(data) == graph::getDims(result) &&
           graph::elementBytes(data) < graph::elementBytes(result);
  }

  /// Returns true if the kernel of `reader`, a user of the op's result, can compute the result
  /// itself.
  bool canRecompute(Operation *reader, Operation *op) {
    Value value = op->getResult(0);
    if (reader->getBlock() != &block || !groupOf(reader) || graph::isView(reader))
      return false;
    if (isa<graph::IndexingOpInterface>(reader))
      return sizes[groupOf(reader)] > 1 && !contractions.contains(groupOf(reader)) &&
             recompute.isProfitable({op}, value, reader);
    if (isa<graph::ReduceOpInterface>(reader))
      return true;
    auto order = [](Value v) { return graph::significantOrder(cast<RankedTensorType>(v.getType())); };
    return isa<graph::ElementwiseOpInterface>(reader) &&
           graph::getDims(reader->getResult(0)) == graph::getDims(value) && order(reader->getResult(0)) == order(value);
  }

  /// Clones the dequantize or extend op into each fusion group that uses its result, before the
  /// first user in that group.
  void sink(Operation *op) {
    llvm::MapVector<Attribute, Operation *> first;
    for (Operation *user : op->getUsers())
      if (Operation *&found = first[groupOf(user)]; !found || user->isBeforeInBlock(found))
        found = user;
    for (auto [group, user] : first) {
      if (group == groupOf(op))
        continue;
      OpBuilder b(user);
      Operation *copy = b.clone(*op);
      copy->setAttr(kGroupAttr, group);
      copy->removeAttr(kWhyAttr);
      if (Attribute why = user->getAttr(kWhyAttr))
        copy->setAttr(kWhyAttr, why);
      op->getResult(0).replaceUsesWithIf(copy->getResult(0),
                                         [&](OpOperand &use) { return groupOf(use.getOwner()) == group; });
    }
    if (op->use_empty())
      op->erase();
  }
};

struct SinkDequantizePass : impl::SinkDequantizePassBase<SinkDequantizePass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      DequantizeSinker(*block).run();
  }
};

} // namespace
} // namespace hewn
