// SPDX-License-Identifier: Apache-2.0
//
// What makes wide elements of narrow ones is computed where it is read, so that the narrow ones are what crosses memory.
//
//     %q = graph.quantize %x    {graph.in_group = 0}            %q = graph.quantize %x    {graph.in_group = 0}
//     %f = graph.dequantize %q  {graph.in_group = 0}     →      %f = graph.dequantize %q  {graph.in_group = 1}
//     %y = graph.add %z, %f     {graph.in_group = 1}            %y = graph.add %z, %f     {graph.in_group = 1}
//
// Several readers compute it each for themselves: a conversion is less than the loads that it saves. With the branches of residual nets and
// the ends of a skip connection in bytes, four times as much stays in a cache.
//
// Left alone: what one of the readers takes as it lies in memory (contractions, parts of the runtime, the program's results), what is
// expensive, what has more than one operand that is no single number, readers in another order of dims, moves that read an element so
// often that computing it again costs more.
#include "dialects/Graph/Analysis/Layout.h"
#include "dialects/Graph/Analysis/Views.h"
#include "dialects/Graph/Graph.h"
#include "lib/Transforms/Fuse/Passes.h"
#include "lib/Transforms/Fuse/Recompute.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_WIDENATREADERSPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

class Mover {
public:
  explicit Mover(Block &block) : block(block) {
    for (Operation &op : block)
      if (IntegerAttr group = groupOf(&op)) {
        ++sizes[group];
        if (isa<graph::ContractOpInterface>(op))
          contractions.insert(group);
      }
  }

  void run() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (widens(&op) &&
          llvm::all_of(op.getUsers(), [&](Operation *user) { return isInside(&op, user) || takes(user, &op); }))
        move(&op);
  }

private:
  Block &block;
  /// The ops of each group, and the groups that have a contraction: what moves there is a border of what it multiplies.
  llvm::DenseMap<Attribute, unsigned> sizes;
  llvm::DenseSet<Attribute> contractions;
  Recompute recompute;

  static bool isInside(Operation *op, Operation *user) { return groupOf(user) == groupOf(op); }

  /// Whether the op makes wider elements of its only operand that is no single number, and is as good as a load.
  bool widens(Operation *op) {
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

  /// Whether the reader's kernel can compute the op's result for itself.
  bool takes(Operation *reader, Operation *op) {
    Value value = op->getResult(0);
    if (reader->getBlock() != &block || !groupOf(reader) || graph::isView(reader))
      return false;
    if (isa<graph::MoveOpInterface>(reader))
      return sizes[groupOf(reader)] > 1 && !contractions.contains(groupOf(reader)) &&
             recompute.isProfitable({op}, value, reader);
    if (isa<graph::ReduceOpInterface>(reader))
      return true;
    auto order = [](Value v) { return graph::significantOrder(cast<RankedTensorType>(v.getType())); };
    return isa<graph::ElementwiseOpInterface>(reader) &&
           graph::getDims(reader->getResult(0)) == graph::getDims(value) && order(reader->getResult(0)) == order(value);
  }

  /// A copy of the op for each group that reads it, in front of the first op there that does.
  void move(Operation *op) {
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

struct WidenAtReadersPass : impl::WidenAtReadersPassBase<WidenAtReadersPass> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      Mover(*block).run();
  }
};

} // namespace
} // namespace hewn
