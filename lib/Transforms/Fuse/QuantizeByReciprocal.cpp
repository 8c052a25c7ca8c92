// SPDX-License-Identifier: Apache-2.0
//
// Quantizes by products instead of a division, where the integers are the same for every float.
//
//     %q = graph.quantize %x, %scale, %zero   →   %q = graph.quantize_by_reciprocal %x, %factor, %rest, %least, %greatest, %zero
//
// How, and for which scales: dialects/Graph/Quant/Reciprocal.cpp. Here: on which machines, and that the products are of the group that the division
// was of. Left alone on machines without fused products, and on grids of threads, where nobody has measured it.
#include "dialects/Graph/Graph.h"
#include "dialects/Graph/Quant/Quant.h"
#include "dialects/Plan/Target.h"
#include "lib/Transforms/Fuse/Passes.h"

using namespace mlir;

namespace hewn {
#define GEN_PASS_DEF_QUANTIZEBYRECIPROCALPASS
#include "lib/Transforms/Fuse/Passes.h.inc"

namespace {

bool inOneGroup(Operation *op, Operation *other) {
  return op->getBlock() == other->getBlock() && op->getAttr(kGroupAttr) == other->getAttr(kGroupAttr);
}

void joinGroup(Operation *op, Operation *made) {
  for (StringRef name : {kGroupAttr, kWhyAttr})
    if (Attribute attribute = op->getAttr(name))
      made->setAttr(name, attribute);
}

struct QuantizeByReciprocalPass : impl::QuantizeByReciprocalPassBase<QuantizeByReciprocalPass> {
  void runOnOperation() override {
    plan::TargetAttr target = plan::targetOf(getOperation());
    if (!target || !target.getHasFma() || target.getGrid())
      return;
    SmallVector<Operation *> ops;
    getOperation().walk([&](graph::ElementwiseOpInterface op) { ops.push_back(op); });
    // What is replaced goes, and with it at most the ops behind it: so the last ones first.
    for (Operation *op : llvm::reverse(ops))
      graph::quantizeByReciprocal(op, {inOneGroup, joinGroup});
  }
};

} // namespace
} // namespace hewn
